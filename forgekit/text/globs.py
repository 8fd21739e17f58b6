"""Path patterns: whether one covers a file, as in `.gitignore` without its exceptions.

`*`, `?` and `[...]` stay within a name, `**` covers any folders. A pattern of a folder covers what is in it;
one without `/` covers a file or folder of that name anywhere. Matching is at most quadratic in both lengths.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

ANY = "**"
_WILD = frozenset("*?[")


@lru_cache(4096)
def _names(pattern: str) -> tuple[str, ...]:
    names = tuple(name for name in pattern.split("/") if name not in {"", "."})
    return names if not names or "/" in pattern.strip("/") or pattern.startswith("/") else (ANY, *names)


def covers(pattern: str, path: str) -> bool:
    """Say whether a pattern covers a file, both relative to the top of the repository."""
    return _covers(_names(pattern), path.split("/"))


def _covers(wanted: Sequence[str], given: Sequence[str]) -> bool:
    """Compare names from left to right; a later `**` makes it needless to change what an earlier one took."""
    at = place = 0
    last = taken = -1
    while at < len(wanted):
        if wanted[at] == ANY:
            last, taken = at, place
            at += 1
            if at == len(wanted):
                return place < len(given)
        elif place < len(given) and _fits(given[place], wanted[at]):
            at, place = at + 1, place + 1
        elif last >= 0 and taken < len(given):
            taken += 1
            at, place = last + 1, taken
        else:
            return False
    return bool(wanted)


def _fits(name: str, wanted: str) -> bool:
    # Most names hold no wildcard, and compiling a pattern for each costs more than all the rest.
    return name == wanted or (not _WILD.isdisjoint(wanted) and fnmatchcase(name, wanted))


def covering_nothing(patterns: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Return the patterns that cover no file, in their order."""
    files = sorted(paths)
    every = {name for path in files for name in path.split("/")}

    def is_used(pattern: str) -> bool:
        names = _names(pattern)
        if len(names) == 2 and names[0] == ANY:
            return names[1] in every or any(fnmatchcase(name, names[1]) for name in every)
        plain = next((n for n, name in enumerate(names) if _WILD & set(name)), len(names))
        start = "/".join(names[:plain])
        for path in files[bisect_left(files, start) :]:
            if not path.startswith(start):
                return False
            if _covers(names, path.split("/")):
                return True
        return False

    return [pattern for pattern in patterns if not is_used(pattern)]
