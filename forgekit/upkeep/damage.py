"""What is wrong with a registry's files, told apart by what it means and what can be done.

`checking.check` finds most of it; here a file that cannot be read is called empty, cut off, half merged or
unreadable, and one that the registry has no place for is called by what it holds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import fields, replace

from forgekit.errors import FormatError, NotFoundError, StoreError
from forgekit.forge import Forge
from forgekit.git.repository import Repository
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.policy.checks import check as run_checks
from forgekit.store import files
from forgekit.text import codec, frontmatter
from forgekit.times import DAY_MS, Instant, format_date
from forgekit.upkeep import checking

MEANING = {
    "empty-file": "its text is gone",
    "truncated-file": "the end of its text is gone",
    "unreadable-file": "what it says is not used until it can be read",
    "conflict-markers": "two versions stand in one file, and neither is used until a person chooses",
    "misplaced": "no command finds an entity under another file name than its id",
    "duplicate-id": "two files claim one id, and only the one at the id's place is used",
    "twin": "a file system that ignores case or Unicode form keeps one of the two only",
    "symlink": "what it leads to is not part of the registry and is not read",
    "stray-file": "nothing reads it, and a merge or an export leaves it out",
    "broken-reference": "what is named there is gone, so nobody can follow it",
    "cycle": "nothing in the circle has a beginning, so no order can be told",
    "edited-in-place": "whoever cited the decision now cites another text",
    "archive-changed": "it no longer proves what was said",
    "id-derivation": "another machine makes another id from the same text",
    "project-mismatch": "it is listed under one project and counted in another",
    "status-fields": "nobody can see what took its place",
}
"""Code of a problem -> what it means for whoever relies on the registry."""

_BRING_BACK = "mend it, or let `forgekit doctor --repair` bring back the last good version"
_ADVICE = {
    "empty-file": _BRING_BACK,
    "truncated-file": _BRING_BACK,
    "unreadable-file": _BRING_BACK,
    "conflict-markers": "choose a side, and delete the lines of the markers",
}


def look(forge: Forge) -> list[Problem]:
    """Return what is wrong with the files, by path, each with its meaning in the message."""
    found = [
        problem
        for problem in checking.check(forge).problems
        if problem.severity is Severity.ERROR or problem.code == "status-fields"
    ]
    named = (each for problem in found for each in _named(forge, problem))
    return [
        replace(
            problem,
            message="; ".join([problem.message, *([means] if (means := MEANING.get(problem.code)) else [])]),
            fix=problem.fix or _ADVICE.get(problem.code, "mend it in an editor"),
        )
        for problem in named
    ]


def future(forge: Forge) -> Problem | None:
    """Find events that are to come: either the clock of this machine or their dates are wrong."""
    limit = forge.now() + DAY_MS
    late = [(at, entity_path(entity)) for entity in forge.registry() if (at := _latest(entity)) > limit]
    if not late:
        return None
    at, path = max(late)
    return Problem(
        code="future-dates",
        path=path,
        message=f"{len(late)} {'entity speaks' if len(late) == 1 else 'entities speak'} of events after "
        f"today, up to {format_date(at)}: what is newest wins, so a wrong date wins for long",
        fix="set this machine's clock, or mend the dates",
    )


def _latest(entity: Entity) -> Instant:
    names = (
        spec.name for spec in fields(entity) if spec.name.endswith("_at") or spec.name == "last_validated"
    )
    return max((value for name in names if (value := getattr(entity, name)) is not None), default=Instant(0))


def _named(forge: Forge, problem: Problem) -> Iterator[Problem]:
    """Call a problem by what the file holds."""
    place = forge.root / problem.path
    if problem.code == "stray-file" and place.is_dir() and not place.is_symlink():
        inner = sorted(path for path in place.rglob("*") if path.is_file() or path.is_symlink())
        for path in inner:
            yield _stray(forge, replace(problem, path=path.relative_to(forge.root).as_posix()))
        if not inner:
            yield problem
    elif problem.code in {"stray-file", "misplaced"}:
        yield _stray(forge, problem)
    elif problem.code == "format":
        yield replace(problem, code=_unreadable(forge, problem.path))
    else:
        yield problem


def _stray(forge: Forge, problem: Problem) -> Problem:
    entity = entity_in(forge, problem.path)
    if entity is None:
        return replace(problem, code="stray-file")
    home = entity_path(entity)
    said = f"holds {entity.id}, whose place is {home}"
    if not (forge.root / home).exists():
        return replace(problem, code="misplaced", message=said, fix="move the file there")
    twin = unicodedata.normalize("NFC", problem.path).casefold() == home
    return replace(
        problem,
        code="twin" if twin else "duplicate-id",
        message=f"{said}, and a file is there",
        fix="keep what is right in that file, and delete this one",
    )


def entity_in(forge: Forge, path: str) -> Entity | None:
    """Return the entity that a file holds, wherever the file is."""
    try:
        data = files.read_bytes(forge.root, path)
        text = frontmatter.decode(data or b"")
        given = frontmatter.read(text)[0]
    except FormatError:
        return None
    for kind in sorted(Kind, key=lambda kind: kind is Kind.PROJECT):  # every kind names its project's id
        if kind.id_field in given:
            try:
                return codec.loads(kind, text)
            except FormatError:
                return None
    return None


def _unreadable(forge: Forge, path: str) -> str:
    try:
        data = files.read_bytes(forge.root, path)
    except FormatError:
        return "unreadable-file"
    if data is None or not data.strip(b"\0\r\n\t "):
        return "empty-file"
    if frontmatter.conflict_marker(data.decode("utf-8", "replace")):
        return "conflict-markers"
    before = committed(forge.store.repository, path)
    cut = before is not None and len(data) < len(before) and before.startswith(data)
    return "truncated-file" if cut else "unreadable-file"


def committed(repository: Repository, path: str) -> bytes | None:
    """Return the bytes of a file at the last commit."""
    try:
        tip = repository.tip()
        return None if tip is None else repository.read_at(tip, path)
    except (NotFoundError, StoreError):
        return None


def sound(path: str, data: bytes) -> bool:
    """Say whether bytes are those of the entity that a path is for, with nothing wrong in themselves."""
    try:
        entity, _ = files.parse(path, data)
    except FormatError:
        return False
    return not any(p.code in _OF_ITSELF for p in run_checks(Registry.of([entity])))


_OF_ITSELF = frozenset({"id-derivation", "edited-in-place", "archive-changed"})
