"""Every error raised on purpose, in one tree.

    ForgeError                 a person can act on this (exit 1)
    |- UsageError              the command was called wrongly (exit 2)
    |- FormatError             a text is not what it should be: names path, line and field
    |- RuleError               values that contradict each other in one entity
    |- NotFoundError           no entity answers to this name
    |- AmbiguousError          several do: carries the candidates
    |- ArchiveError            an archive that cannot be filed: carries the problems
    |  `- NothingCompactedError  a transcript in which nothing was compacted
    |- TransitionError         a state change that the current state forbids
    |- SecretError             a text to be written holds what looks like a secret
    |- UnsentSecretError       a commit to be pushed holds one
    `- StoreError              the repository cannot be read or written
       |- NoRegistryError      no forgekit.toml here or above
       |- RepositoryError      not a git repository, or one of a kind that cannot be served
       |  |- UnsoundError      what is to be pushed holds errors
       |  `- RemoteError       the remote repository cannot be reached or refuses
       |- DirtyFileError       a file to be written holds uncommitted work
       |- ChangedError         the entity has changed since it was read
       |- LockedError          another process holds the repository's lock
       |- WriteError           the disk or the folder refused
       `- UnsureError          the write failed at the commit point; it may have been applied

Errors carry data; the sentence that people read is built here, once, and names what to do next.
Findings about files are `forgekit.model.problem.Problem` values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence


class ForgeError(Exception):
    """A failure that a person can act on."""

    exit_code = 1


class UsageError(ForgeError):
    """The command was called wrongly."""

    exit_code = 2


class FormatError(ForgeError):
    """A text is not what it should be."""

    def __init__(self, message: str, *, path: str = "", line: int | None = None, field: str = "") -> None:
        self.message = message
        self.path = path
        self.line = line
        self.field = field
        super().__init__(message)

    def __str__(self) -> str:
        place = self.path + (f":{self.line}" if self.line and self.path else "")
        if self.line and not self.path:
            place = f"line {self.line}"
        return ": ".join(part for part in (place, self.field, self.message) if part)

    def at(self, path: str) -> FormatError:
        """Return the same error with the file's path."""
        return FormatError(self.message, path=path, line=self.line, field=self.field)


class RuleError(ForgeError):
    """Values that contradict each other in one entity."""


class NotFoundError(ForgeError):
    """No entity answers to this name."""

    def __init__(self, what: str, name: str, hint: str = "") -> None:
        self.what = what
        self.name = name
        self.hint = hint
        super().__init__(f"no {what} answers to {name!r}" + (f"; {hint}" if hint else ""))


class AmbiguousError(ForgeError):
    """Several entities answer to one name."""

    def __init__(self, name: str, candidates: Sequence[tuple[str, str]]) -> None:
        self.candidates = tuple(candidates)
        shown = "".join(f"\n  {short}  {title}" for short, title in candidates)
        super().__init__(f"{name!r} could be any of these; use one of the ids:{shown}")


class ArchiveError(ForgeError):
    """An archive that cannot be filed.

    Args:
        message: why, and what to do.
        lines: one sentence per problem, each naming its line.
    """

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        self.lines = tuple(lines)
        super().__init__("\n  ".join((message, *lines)))


class NothingCompactedError(ArchiveError):
    """A transcript in which nothing was compacted."""


class TransitionError(ForgeError):
    """A state change that the current state forbids."""


class SecretError(ForgeError):
    """A text to be written holds what looks like a secret; the message does not repeat it.

    Args:
        path: of the file that would hold it.
        line: 1-based, of that file.
        field: front-matter key or section of the body, or "".
        rule: the kind of secret.
        name: its fingerprint.

    Attributes:
        found: the message without how to write the secret nevertheless.
    """

    def __init__(self, *, path: str, line: int, field: str, rule: str, name: str) -> None:
        place = ": ".join(part for part in (f"{path}:{line}", field) if part)
        self.found = f"{place}: this looks like a secret ({rule} {name}), and nothing was written; remove it"
        super().__init__(
            f"{self.found}, or pass --allow {name} (for good: `allowed_secrets` in forgekit.toml)"
        )


class UnsentSecretError(ForgeError):
    """A commit that is to be pushed holds what looks like a secret; arguments as of SecretError."""

    def __init__(self, *, path: str, line: int, commit: str, rule: str, name: str) -> None:
        super().__init__(
            f"{path}:{line} of commit {commit[:10]} looks like a secret ({rule} {name}), and nothing was "
            f"pushed; take it out of that commit (`git rebase -i {commit[:10]}^`), or add {name} to "
            "`allowed_secrets` in forgekit.toml"
        )


class StoreError(ForgeError):
    """The repository cannot be read or written."""


class NoRegistryError(StoreError):
    """No registry at or above a folder."""

    def __init__(self, start: str) -> None:
        super().__init__(
            f"no forgekit.toml in {start} or above it; run `forgekit init` where the registry is to be"
        )


class RepositoryError(StoreError):
    """Not a git repository, or one of a kind that cannot be served."""


class UnsoundError(RepositoryError):
    """What is to be pushed holds errors that `forgekit check` reports.

    Args:
        errors: a line each.
    """

    def __init__(self, errors: Sequence[str]) -> None:
        shown = "".join(f"\n  {line}" for line in errors[:10])
        more = f"\n  and {len(errors) - 10} more" if len(errors) > 10 else ""
        super().__init__(f"not pushed, since this must be fixed first (see `forgekit check`):{shown}{more}")


class RemoteError(RepositoryError):
    """The remote repository cannot be reached or refuses."""


class DirtyFileError(StoreError):
    """Files to be written hold uncommitted work."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            f"uncommitted changes in {', '.join(paths)}; commit or undo them (`git restore`; a new file: "
            "delete it), then run this again"
        )


class ChangedError(StoreError):
    """The entity has changed since it was read."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has changed since you read it; read it again and repeat the change")


class LockedError(StoreError):
    """Another process holds a lock of the repository.

    Args:
        path: of the lock.
        age: in seconds.
        owner: the processes that may hold it, or "" where none is known.
    """

    def __init__(self, path: str, age: float, owner: str) -> None:
        advice = "no git process is running here; delete it if no other program uses the repository"
        if owner:
            advice = f"held by {owner}; wait for it, then run this again"
        super().__init__(f"{path} has been locked for {age:,.0f} s: {advice}")


class WriteError(StoreError):
    """The disk or the folder refused a write."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot write {path}: {reason}; nothing was recorded{_disk_advice(reason)}")


class UnsureError(StoreError):
    """The write failed at the commit point; it may have been applied."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"cannot finish {path}: {reason}; "
            f"it may have been applied; run this again, nothing is recorded twice{_disk_advice(reason)}"
        )


def _disk_advice(reason: str) -> str:
    """Return what to do about a full disk; "" for another reason."""
    full = "No space left on device" in reason
    return "; `git gc --prune=now` in the registry may free some space" if full else ""
