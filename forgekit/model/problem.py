"""A problem in a text: what is wrong, where, and how to fix it."""

from __future__ import annotations

from enum import Enum

from forgekit.frozen import frozen


class Severity(Enum):
    """How much a problem matters."""

    ERROR = "error"  # must be fixed; a check fails
    WARNING = "warning"  # worth a look; a check passes
    INFO = "info"  # for completeness


@frozen(kw_only=True)
class Problem:
    """One problem.

    Attributes:
        code: a stable name, such as `broken-reference`.
        message: one sentence, without the place.
        path: relative to the root of the registry; "" for pasted text.
        line: 1-based, or None for the whole text.
        field: a front-matter key, or "".
        fix: what to do next, or "".
        fixable: whether `check --fix` fixes it.
    """

    code: str
    message: str
    path: str = ""
    line: int | None = None
    field: str = ""
    fix: str = ""
    severity: Severity = Severity.ERROR
    fixable: bool = False

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part)
        parts = [part for part in (place, self.field, self.message) if part]
        return ": ".join(parts) + (f" ({self.fix})" if self.fix else "")


def warning(code: str, message: str, line: int | None = None, *, path: str = "", fix: str = "") -> Problem:
    """Return a problem that a check passes."""
    return Problem(code=code, message=message, line=line, path=path, fix=fix, severity=Severity.WARNING)
