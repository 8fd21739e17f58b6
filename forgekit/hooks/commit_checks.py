"""What a commit may not do to a registry: the work behind the pre-commit hooks.

The named files are looked at, and references are followed from there. What cannot be read or decided
stops the commit. pre-commit puts unstaged changes aside first, so the work tree is what will be committed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from forgekit import console
from forgekit.checks import CheckInput
from forgekit.errors import FormatError, NoRegistryError
from forgekit.forge import Forge, WriteOptions
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, is_id
from forgekit.insight import staleness
from forgekit.merge.conflicting_edits import listed
from forgekit.model.entities import Archive, Conflict, Decision, Entity, entity_path
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.settings import SETTINGS_FILE, ModelKind, OpenConflicts
from forgekit.text import codec, frontmatter
from forgekit.text.secrets import redact
from forgekit.upkeep.check import around, check
from forgekit.worktree.files import entity_of_path
from forgekit.worktree.roots import TOPS, find_root, load_settings


@frozen(kw_only=True)
class _Staged:
    """One registry that a commit touches.

    Attributes:
        prefix: leads from the folder that git works in to the registry's root, for messages.
        paths: of the files to look at, relative to that root.
    """

    forge: Forge
    registry: Registry
    prefix: str
    paths: frozenset[str]


def checks(files: Sequence[str], folder: Path, *, removed: Sequence[str]) -> int:
    """Say every error and warning about the named files; errors give exit status 1.

    Args:
        removed: files that the commit removes; who names them still is an error.

    Raises FormatError for settings among the files that cannot be read.
    """
    status = 0
    gone = {
        staged.forge.root: staged.paths
        for staged in _registries([path for path in removed if _owner(path, folder)], folder, around)
    }
    for staged in _registries([*files, *removed], folder, around):
        if SETTINGS_FILE in staged.paths:
            load_settings(staged.forge.root)
        left_out = gone.get(staged.forge.root, frozenset())
        problems = check(staged.forge, sorted(staged.paths - left_out), left_out).problems
        status |= _say_problems(staged, [p for p in problems if p.severity is not Severity.INFO])
    return status


def conflicts(files: Sequence[str], folder: Path, *, staged: Callable[[list[str]], set[str]]) -> int:
    """Refuse decisions that contradict others while the commit holds no verdict on it, and write the verdict.

    Open verdicts are named; the settings say whether they stop the commit.

    Args:
        staged: returns those of some paths, relative to the folder, that the commit holds.
    """
    status = 0
    for item in _registries(files, folder):
        wanted = item.forge.settings.conflicts
        missing, problem = _unrecorded(item, staged)
        for conflict in missing:
            _say(
                f"{_sides(item.registry, conflict)}: {conflict.nature}"
                f" (git add {item.prefix}{entity_path(conflict)}; or change a side)"
            )
        if problem:
            mark = "" if wanted is OpenConflicts.REQUIRE else "note: "
            _say(f"{mark}conflicts were not looked for: {problem}")
        status |= bool(missing) or (bool(problem) and wanted is OpenConflicts.REQUIRE)
        unstaged = {conflict.id for conflict in missing}
        for conflict in staleness.open_conflicts(item.registry):
            touched = {entity_path(conflict), *(path_of(Kind.DECISION, side) for side in conflict.sides)}
            if touched.isdisjoint(item.paths) or conflict.id in unstaged:
                continue
            a, b = (short_id(Kind.DECISION, side) for side in conflict.sides)
            name = short_id(Kind.CONFLICT, conflict.id)
            refused = wanted is OpenConflicts.REFUSE
            _say(
                f"{'' if refused else 'note: '}{a} and {b} cannot both be followed: {conflict.nature}"
                f" (forgekit conflict resolve {name} --keep {a} --reason TEXT --no-commit, then git add;"
                " or scope, or dismiss)"
            )
            status |= refused
    return status


def _unrecorded(item: _Staged, staged: Callable[[list[str]], set[str]]) -> tuple[list[Conflict], str]:
    """Return the verdicts that the commit lacks, which are written, and why nothing could be judged."""
    named = CheckInput(only=item.paths).subjects(item.registry)
    decisions = {d.id for d in named if isinstance(d, Decision) and not d.status.ended}
    if not decisions:
        return [], ""
    from forgekit.findings import findings_of
    from forgekit.store import Change

    settings = item.forge.settings
    findings = findings_of(item.forge, item.registry, decisions)
    new = tuple(finding.verdict() for finding in findings.conflicts)
    if new:
        # Committing is left to the person, as a formatter does.
        change = Change(writes=new, subject="conflict: record")
        item.forge.commit(lambda: change, WriteOptions(no_commit=True))
    known = [c for c in staleness.open_conflicts(item.registry) if decisions.intersection(c.sides)]
    found = [*new, *known]
    recorded = staged([item.prefix + entity_path(conflict) for conflict in found]) if found else set()
    wanted = settings.judge is not ModelKind.OFF or settings.conflicts is OpenConflicts.REQUIRE
    missing = [conflict for conflict in found if item.prefix + entity_path(conflict) not in recorded]
    return missing, findings.missing if wanted else ""


def _sides(registry: Registry, conflict: Conflict) -> str:
    sides = map(registry.get, conflict.sides)
    return " contradicts ".join(f"{short_id(d.kind, d.id)} ({d.title})" for d in sides if d is not None)


def stale(files: Sequence[str], folder: Path) -> int:
    """Refuse named decisions whose dependencies have ended; warn of stale ones."""
    status = 0
    for staged in _registries(files, folder):
        for shaken in staleness.needs_revalidation(staged.registry):
            path = entity_path(shaken.decision)
            if path in staged.paths:
                _say(f"{staged.prefix}{path}: {shaken.why} (name what replaced it, or take it out)")
                status = 1
            elif entity_path(shaken.broken) in staged.paths:
                name = short_id(Kind.DECISION, shaken.decision.id)
                _say(f"warning: {name} {shaken.why}; it needs another look")
        found = staleness.stale_by(staged.forge.settings, staged.registry, staged.forge.now())
        for decision, aged in found:
            if entity_path(decision) in staged.paths:
                name = short_id(Kind.DECISION, decision.id)
                _say(f"warning: {name} was last validated {aged.days} days and {aged.hops} hops ago")
        if found:
            share = f"{len(found)} of {found.active} active decisions ({found.share:.0%})"
            _say(f"warning: {share} are stale; `forgekit stale` lists them")
    return status


def archives(
    files: Sequence[str], folder: Path, *, removed: Sequence[str], changed: Mapping[str, bytes]
) -> int:
    """Refuse archives whose text is not the one that was filed, and commits that remove one.

    What lies in a folder of that name and is no archive of a registry is not looked at.

    Args:
        changed: the committed bytes of the archives that it changes.
    """
    lost, named = (
        [path for path in paths if (owner := _owner(path, folder)) and owner[0] is Kind.ARCHIVE]
        for paths in (removed, [*files, *changed])
    )
    for path in lost:
        _say(f"{path}: archives are write-once, and this commit removes one (git restore --staged {path})")
    status = int(bool(lost))
    for staged in _registries(named, folder, around):
        problems = check(staged.forge, sorted(staged.paths)).problems
        found = [p for p in problems if p.code in {"archive-changed", "format"}]
        reported = {p.path for p in found}
        for entity in CheckInput(only=staged.paths - reported).subjects(staged.registry):
            path = entity_path(entity)
            before = _archive(changed.get(staged.prefix + path))
            if before is not None and before.body != entity.body and not _was_filed_too(entity, before):
                message = "the text is not the committed one; archives are write-once"
                fix = f"git restore --staged --worktree {staged.prefix}{path}"
                found.append(Problem(code="archive-changed", message=message, path=path, fix=fix))
        status |= _say_problems(staged, found)
    return status


def _archive(data: bytes | None) -> Archive | None:
    """Return a committed archive, or None where the file was none yet."""
    try:
        return None if data is None else cast(Archive, codec.loads(Kind.ARCHIVE, frontmatter.decode(data)))
    except FormatError:
        return None


def _was_filed_too(archive: Entity, before: Archive) -> bool:
    """Say whether a merge left an archive's text for a person to choose: another clone filed it."""
    return f"content_sha256: {cast(Archive, archive).content_sha256}" in listed(before)


def _registries(
    files: Iterable[str],
    folder: Path,
    load: Callable[[Forge, Collection[str]], Registry] = lambda forge, _: forge.registry(),
) -> Iterator[_Staged]:
    """Group the named files by registry and load each; a file in no registry is left out."""
    by_root: dict[Path, set[str]] = defaultdict(set)
    for name in files:
        try:
            root, inside = _place(name, folder)
        except NoRegistryError:
            if is_id(Path(name).stem):
                raise  # an entity whose registry has lost its settings
            continue
        if inside == SETTINGS_FILE or inside.startswith(tuple(f"{top}/" for top in TOPS)):
            by_root[root].add(inside)
    for root, paths in sorted(by_root.items()):
        forge = Forge.open(root)
        place = root.relative_to(folder.resolve()).as_posix()
        prefix = "" if place == "." else f"{place}/"
        yield _Staged(forge=forge, registry=load(forge, paths), prefix=prefix, paths=frozenset(paths))


def _place(name: str, folder: Path) -> tuple[Path, str]:
    """Return the registry that a file lies in, and its path there.

    Raises NoRegistryError.
    """
    path = folder.resolve() / name
    root = find_root(path.parent, {})
    return root, path.relative_to(root).as_posix()


def _owner(name: str, folder: Path) -> tuple[Kind, EntityId] | None:
    """Return whose file a path is, or None for no entity's of a registry."""
    try:
        return entity_of_path(_place(name, folder)[1])
    except NoRegistryError:
        return None


def _say_problems(staged: _Staged, problems: Sequence[Problem]) -> int:
    """Print problems; return exit status 1 where one is an error."""
    for problem in problems:
        mark = "warning: " if problem.severity is Severity.WARNING else ""
        _say(f"{mark}{replace(problem, path=staged.prefix + problem.path)}")
    return int(any(problem.severity is Severity.ERROR for problem in problems))


def _say(sentence: str) -> None:
    """Print a line without the secrets that it may quote from a file."""
    console.data(redact(sentence).text)
