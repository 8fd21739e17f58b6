"""Which decisions and conventions govern some files, and which decisions govern none any more.

A decision names path patterns and components in `governs`, a convention in `scope`; `[components]` of the
settings gives the patterns of a component. All are relative to the top of the git repository that the files
are in.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.errors import ForgeError, RuleError, UsageError
from forgekit.forge import Forge, reading
from forgekit.ids import EntityId
from forgekit.model.kinds import Kind, short_id
from forgekit.text.globs import covering_nothing, covers
from forgekit.worktree.roots import work_tree

if TYPE_CHECKING:
    from forgekit.model.entities import Convention, Decision


class Governing(NamedTuple):
    """A decision in force that governs files.

    Attributes:
        paths: of those asked about.
        patterns: of the decision, those that cover them.
        conflicts: open verdicts and findings that it is a side of.
        stale: nobody validated it lately.
    """

    decision: Decision
    paths: tuple[str, ...]
    patterns: tuple[str, ...]
    conflicts: tuple[EntityId, ...] = ()
    stale: bool = False

    @property
    def marks(self) -> tuple[str, ...]:
        """What its reader must know first, as words."""
        names = ", ".join(short_id(Kind.CONFLICT, key) for key in self.conflicts)
        return (f"in conflict: {names}",) * bool(names) + ("stale",) * self.stale


class Applying(NamedTuple):
    """An active convention whose scope covers files; `patterns` are those of it that do."""

    convention: Convention
    paths: tuple[str, ...]
    patterns: tuple[str, ...]


class Explanation(NamedTuple):
    """What governs files.

    Attributes:
        rows: those in conflict first, then the stale ones, then the newest.
        conventions: the surest first.
        notice: why conflicts are missing.
    """

    paths: tuple[str, ...]
    rows: tuple[Governing, ...]
    conventions: tuple[Applying, ...]
    notice: str = ""


@reading
def explain(forge: Forge, paths: Iterable[str] = (), *, diff: str | None = None) -> Explanation:
    """Return the decisions and conventions in force that govern files.

    What contradicts those decisions is judged, for an agent only as long as it can wait.

    Args:
        paths: relative to the working folder, or absolute; of a folder all that git knows or would add.
        diff: two revisions, `BASE..HEAD`, whose changed files are meant too.

    Raises UsageError where no file is named, RepositoryError for a revision that is not known.
    """
    folder = Path.cwd()
    named = (each for path in paths for each in (_below(folder, path) or [relative(path, folder)]))
    asked = [*named, *(_changed(folder, diff) if diff else ())]
    if not asked and not diff:
        raise UsageError("name a file, or two revisions with --diff BASE..HEAD")
    files = tuple(dict.fromkeys(asked))
    ids, conventions = governing(forge, files), applying(forge, files)
    if not ids:
        return Explanation(tuple(asked), (), conventions)
    from forgekit.findings import WRITE_WAIT_MS, findings_of
    from forgekit.insight.staleness import open_conflicts, stale_by
    from forgekit.model.entities import Decision

    registry = forge.registry()
    opposed = [(conflict.id, conflict.sides) for conflict in open_conflicts(registry)]
    # With progress every missing vector is made first, as a fresh clone needs it.
    wait: dict[str, Any] = {"wait_ms": WRITE_WAIT_MS} if forge.agent else {"progress": lambda *_: None}
    found = findings_of(forge, registry, ids, **wait)
    opposed += [(EntityId(each.id), (each.a.id, each.b.id)) for each in found.conflicts]
    aged = {aged.id for aged in stale_by(forge.settings, registry, forge.now(), among=ids).found}
    rows = [
        Governing(
            decision,
            *ids[decision.id],
            conflicts=tuple(key for key, sides in opposed if decision.id in sides),
            stale=decision.id in aged,
        )
        for decision in registry.of_ids(Decision, ids)
    ]
    rows.sort(key=lambda row: row.decision.id, reverse=True)
    rows.sort(key=lambda row: (not row.conflicts, not row.stale))
    notice = f"conflicts were not looked for: {found.missing}" if found.missing else ""
    if found.unjudged:
        notice = f"conflicts are missing: {found.unjudged:,} pairs are not judged; `forgekit conflict scan`"
    return Explanation(tuple(asked), tuple(rows), conventions, notice)


def applying(forge: Forge, paths: Sequence[str]) -> tuple[Applying, ...]:
    """Return the active conventions whose scope covers files, as many as are injected; `paths` as below."""
    covering = governing(forge, paths, Kind.CONVENTION)
    if not covering:
        return ()
    from forgekit.insight.conventions import injected, lives

    found: list[Any] = forge.catalogue.of_ids(Kind.CONVENTION, covering)
    sessions: list[Any] = [
        each
        for project in {convention.project_uuid for convention in found}
        for each in forge.catalogue.entities(Kind.CONVERSATION, project=project)
    ]
    active, _ = injected(lives(found, sessions).values())
    return tuple(Applying(life.convention, *covering[life.convention.id]) for life in active)


def governing(
    forge: Forge, paths: Sequence[str], kind: Kind = Kind.DECISION
) -> dict[EntityId, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return what governs files, of one kind: which of them, by which of its patterns.

    Args:
        paths: relative to the top of the repository.
        kind: decisions, or conventions.
    """
    components = dict(forge.settings.components)
    found = {}
    for key, patterns in _governed(forge, kind).items():
        hits = [
            (path, each)
            for each in patterns
            for pattern in components.get(each, (each,))
            for path in paths
            if covers(pattern, path)
        ]
        if hits:
            touched, named = (tuple(dict.fromkeys(some)) for some in zip(*hits, strict=True))
            found[key] = touched, named
    return found


def unused(forge: Forge) -> dict[EntityId, tuple[str, ...]]:
    """Return the patterns that cover no file of the registry's repository, by decision in force.

    Where no pattern of any decision covers one, the files are elsewhere, and the result is empty.
    """
    governed = _governed(forge, Kind.DECISION)
    if not governed:
        return {}
    from forgekit.git.program import Program

    components = dict(forge.settings.components)
    patterns = {p for each in governed.values() for name in each for p in components.get(name, (name,))}
    try:
        listed = Program(work_tree(forge.root)).run("ls-files", "-z")
    except ForgeError:
        return {}
    dead = set(covering_nothing(sorted(patterns), os.fsdecode(listed).rstrip("\0").split("\0")))
    if dead == patterns:
        return {}
    found = {
        key: tuple(name for name in each if dead.issuperset(components.get(name, (name,))))
        for key, each in governed.items()
    }
    return {key: names for key, names in found.items() if names}


def _governed(forge: Forge, kind: Kind) -> Mapping[EntityId, tuple[str, ...]]:
    forge.catalogue.refresh()
    return {EntityId(key): tuple(json.loads(names)) for key, names in forge.catalogue.governed(kind)}


def given_patterns(patterns: Iterable[str]) -> Iterator[str]:
    """Yield path patterns; raise RuleError for one that would cover no file of the repository."""
    for pattern in patterns:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise RuleError(
                f"governs: {pattern!r} must be relative to the top of the repository, such as `src/**`"
            )
        if pattern.startswith("!") or "{" in pattern:
            raise RuleError(
                f"governs: {pattern!r} has `!` or `{{`, which is not read; give each pattern by itself"
            )
        yield pattern


def relative(path: str, folder: Path) -> str:
    """Return a path relative to the top of the repository that a folder is in, as patterns are.

    Args:
        path: absolute, or relative to the folder.
        folder: absolute.
    """
    whole = os.path.realpath(folder / path)
    try:
        inside = os.path.relpath(whole, work_tree(folder))
    except ForgeError:
        return path
    return whole if inside.startswith("..") else inside.replace(os.sep, "/")


def _below(folder: Path, path: str) -> list[str]:
    """Return the files of a folder, relative to the top of the repository; none of what is no folder."""
    place = folder / path
    if not place.is_dir():
        return []
    from forgekit.git.program import Program

    options = ("--cached", "--others", "--exclude-standard", "--full-name", "-z", "--", ".")
    with contextlib.suppress(ForgeError):
        listed = os.fsdecode(Program(place).run("ls-files", *options))
        return [name for name in listed.split("\0") if name]
    return []


def _changed(folder: Path, revisions: str) -> list[str]:
    from forgekit.git.program import Program

    base, dots, head = revisions.partition("..")
    if not dots or not base:
        raise UsageError(f"--diff takes two revisions such as main..HEAD, not {revisions[:60]!r}")
    options = ("--name-only", "--no-renames", "-z", "--end-of-options")
    listed = Program(folder).run("diff", *options, f"{base}...{head.lstrip('.') or 'HEAD'}", "--")
    return [name for name in os.fsdecode(listed).split("\0") if name]
