"""Answers computed from a registry and never stored. Pure."""
