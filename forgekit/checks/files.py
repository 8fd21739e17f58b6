"""Files: entities at a wrong path, and names and attributes in git that change what the registry holds.

The listings come from git and the work tree; everything here is a function of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase

from forgekit.checks.base import CheckInput, finding
from forgekit.errors import FormatError
from forgekit.ids import timestamp
from forgekit.model.entity import Entity, entity_path
from forgekit.model.field_types import INSTANT
from forgekit.model.fields import FIELDS
from forgekit.model.kinds import Kind, kind_of_path, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.text import codec, frontmatter
from forgekit.times import DAY_MS, Instant, format_instant

GITLINK, LINK = 0o160000, 0o120000
"""Modes of a submodule and of a symbolic link in git's index and trees."""

_FOLDERS = ("registry/", "archives/")
_SAMPLES = tuple(f"{kind.folder}/2026-01/018bcfe5-6800-8f8f-b518-b34bfcd74276.md" for kind in Kind)
_CHANGING = re.compile(r"(?:filter|working-tree-encoding)=\S+|ident|merge=(?!forgekit$)\S+|-merge|binary")


_BY_ID_FIELD = {kind.id_field: kind for kind in Kind}


def misplaced(path: str, data: bytes) -> Entity | None:
    """Return the entity of a file that lies at another path than the entity's, or None."""
    try:
        text = frontmatter.decode(data)
        names = frontmatter.load_fields(frontmatter.split(text)[0])[0]
    except FormatError:
        return None
    kinds = [_BY_ID_FIELD[name] for name in names if name in _BY_ID_FIELD]  # an entity's own id comes first
    kinds.sort(key=lambda kind: kind is not kind_of_path(path))
    for kind in kinds:
        with suppress(FormatError):
            entity = codec.loads(kind, text)
            return entity if entity_path(entity) != path else None
    return None


def misplaced_files(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entity files that were renamed or moved, among the given files at no entity's path."""
    for path, data in given.strays.items():
        entity = misplaced(path, data) if given.wants(path) else None
        if entity is None:
            continue
        name, right = short_id(entity.kind, entity.id), entity_path(entity)
        if registry.get(entity.id) is None:
            message, fix = f"holds {name}, whose path is {right}", "`forgekit check --fix` moves it there"
        else:
            message, fix = f"is a second file of {name}, beside {right}", "keep one of the two at that path"
        fixable = registry.get(entity.id) is None
        yield Problem(code="misplaced-file", message=message, path=path, fix=fix, fixable=fixable)


def future_times(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find times more than a day ahead of now, as a wrong clock writes them."""
    if given.now is None:
        return
    latest = given.now + DAY_MS
    for entity in given.subjects(registry):
        times = {entity.kind.id_field: timestamp(entity.id)} if entity.kind is not Kind.PROJECT else {}
        times |= {f.name: getattr(entity, f.name) for f in FIELDS[entity.kind] if f.type is INSTANT}
        for name, moment in times.items():
            if moment > latest:
                yield finding(
                    entity,
                    "future-time",
                    f"holds the time {format_instant(Instant(moment))}, which is in the future",
                    field=name,
                    fix="check the clock of the machine that wrote it",
                    severity=Severity.WARNING,
                )


def tracked_files(modes: Mapping[str, int]) -> Iterator[Problem]:
    """Find files in the registry's folders that git tracks and the registry does not read.

    Args:
        modes: path -> mode of each file in git's index or in a tree.
    """
    for path, mode in modes.items():
        if not path.startswith(_FOLDERS):
            continue
        name = path.rpartition("/")[2]
        if mode == GITLINK:
            message, fix = "is a submodule, whose files the registry does not hold", "`git rm --cached` it"
        elif mode == LINK:
            message, fix = "is a symbolic link, and links are not followed", "put the file itself here"
        elif name.startswith(".") and name != ".gitkeep":
            message, fix = "is a hidden file that the registry does not read", "delete it"
        else:
            continue
        yield Problem(code="stray-file", message=message, path=path, fix=fix)


def hostile_attributes(path: str, text: str) -> Iterator[Problem]:
    """Find lines of a `.gitattributes` file that change how git stores or merges the registry's files.

    Args:
        path: of the file, relative to the registry's root.
        text: its content.
    """
    folder = path.rpartition("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        pattern, *attributes = line.split() or [""]
        if pattern.startswith("#") or not _matches(folder, pattern):
            continue
        for attribute in attributes:
            if _CHANGING.fullmatch(attribute):
                yield Problem(
                    code="hostile-attributes",
                    message=f"`{attribute}` changes what git stores or merges of the registry's files",
                    path=path,
                    line=number,
                    fix="remove it, or limit the pattern to other files",
                )


def _matches(folder: str, pattern: str) -> bool:
    """Say whether a pattern of a folder's attributes can match a file of the registry."""
    start = f"{folder}/" if folder else ""
    below = [sample.removeprefix(start) for sample in _SAMPLES if sample.startswith(start)]
    if "/" not in pattern:
        return any(fnmatchcase(sample.rpartition("/")[2], pattern) for sample in below)
    anchored = pattern.lstrip("/").replace("**/", "*")
    return any(fnmatchcase(sample, anchored) for sample in below)
