"""Secrets that stand in the files."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.policy.checks.base import CheckInput
from forgekit.text.redaction import find


def no_secrets(_: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find secrets in the files whose text is given."""
    for path, text in given.texts.items():
        if given.wants(path):
            yield from secrets_in(path, text, given.allowed)


def secrets_in(path: str, text: str, allowed: Collection[str]) -> Iterator[Problem]:
    """Find the secrets in one file; none is repeated in what is said."""
    for found in find(text, allowed):
        yield Problem(
            code="secret",
            message=f"this looks like a secret: {found.rule} {found.fingerprint}",
            path=path,
            line=found.line,
            fix=f'take it out; or put "{found.fingerprint}" into `allowed_secrets` of forgekit.toml',
        )
