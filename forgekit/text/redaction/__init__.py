"""Secrets in text: found by their shape, and replaced by a mark."""

from forgekit.text.redaction.redact import Finding, Redacted, find, redact

__all__ = ["Finding", "Redacted", "find", "redact"]
