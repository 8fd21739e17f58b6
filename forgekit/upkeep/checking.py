"""Check the registry, mend what needs no person, and accept what an editor left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.catalogue.partial import PartialRegistry
from forgekit.errors import ChangedError, FormatError, NotFoundError, RepositoryError, UsageError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.policy.checks import check as run_checks
from forgekit.policy.checks.base import CheckInput, locate
from forgekit.policy.checks.identity import text_gives_id
from forgekit.policy.checks.references import references
from forgekit.store import files
from forgekit.text import codec, frontmatter

if TYPE_CHECKING:
    from forgekit.git.repository import Repository
    from forgekit.policy.checks.fixing import Fix
    from forgekit.store.store import Change, Outcome
    from forgekit.writing import How, Written

VERSIONS = 50
"""Commits searched for the last good version of a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What a check found.

    Attributes:
        problems: by path, with lines where they are known.
        looked_at: how many entities were checked.
        fixed: what was mended, with `--fix`.
        outcome: of the commit that mended it.
    """

    problems: tuple[Problem, ...]
    looked_at: int
    fixed: tuple[Fix, ...] = ()
    outcome: Outcome | None = None

    @property
    def errors(self) -> int:
        """How many problems must be mended."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)


def check(forge: Forge, paths: Sequence[str] | None = None) -> Findings:
    """Check the registry, or the files at some paths.

    Args:
        forge: the registry.
        paths: relative to its root; all where None.
    """
    only = None if paths is None else frozenset(paths)
    registry = _registry(forge, only)
    given = _given(forge, registry, only)
    problems = run_checks(registry, given)
    looked_at = sum(1 for _ in given.subjects(registry))
    found = locate(problems, {**given.texts, **_more_texts(forge, problems, given.texts)})
    return Findings(problems=tuple(found), looked_at=looked_at)


def fix(
    forge: Forge, paths: Sequence[str] | None = None, *, dry_run: bool = False, no_commit: bool = False
) -> Findings:
    """Mend what needs no person, in one commit, and check what is left.

    A decision edited in place is uncommitted work as a rule, and is what the revision is made from. Other
    files with uncommitted work are left alone: their form is mended once their content is committed.
    """
    from forgekit.policy.checks.fixing import fixes  # noqa: PLC0415 - a check alone writes nothing
    from forgekit.store.store import Change  # noqa: PLC0415 - as above

    only = None if paths is None else frozenset(paths)

    def decide() -> Change:
        registry = forge.registry()
        plan = fixes(registry, _given(forge, registry, only), forge.now())
        dirty = set(forge.store.repository.changed_paths()) if plan else set()
        edits = [item for item in plan if item.code == "edited-in-place" or item.path not in dirty]
        form = [item for item in edits if item.code == "not-canonical"]
        return Change(
            writes=tuple(entity for item in edits if item not in form for entity in item.writes),
            # A write keeps the form of the file as it stands, and the form is what is to be mended here.
            files={item.path: codec.dumps(entity).encode() for item in form for entity in item.writes},
            over={item.path: files.read_bytes(forge.root, item.path) or b"" for item in edits},
            subject=f"check: fix {len(edits)} {'file' if len(edits) == 1 else 'files'}",
            trailers=(
                ("Forgekit-Op", "check --fix"),
                *(("Forgekit-Entity", entity.id) for item in edits for entity in item.writes),
            ),
            result=tuple(edits),
        )

    outcome = forge.store.commit(decide, dry_run=dry_run, no_commit=no_commit)
    fixed = outcome.change.result
    assert isinstance(fixed, tuple)  # noqa: S101 - what decide put there
    return replace(check(forge, paths), fixed=fixed, outcome=outcome)


def accept(forge: Forge, old: Entity, text: str, how: How) -> Written:
    """Write what an editor left of an entity's file; a decision whose text was changed becomes a revision.

    Args:
        forge: the registry.
        old: the entity as it was when the editor opened.
        text: the edited file.
        how: dry run, or without a commit.

    Raises FormatError for the first error in the text, ChangedError when the entity moved on meanwhile.
    """
    from forgekit.policy.checks.fixing import fixes  # noqa: PLC0415 - a check alone writes nothing
    from forgekit.writing import write  # noqa: PLC0415 - as above

    path = entity_path(old)
    try:
        new = codec.loads(old.kind, text)
    except FormatError as e:
        raise e.at(short_id(old.kind, old.id)) from None
    if new.id != old.id:
        raise FormatError("is the file's name and cannot change", path=path, field=old.kind.id_field)

    def decide(registry: Registry) -> Sequence[Entity]:
        if registry.get(old.id) != old:
            raise ChangedError(path)
        then = Registry.of([*(e for e in registry if e.id != old.id), new], registry.problems)
        known = {old.id: old} if isinstance(old, Decision) and text_gives_id(old) else {}
        given = CheckInput(only=frozenset({path}), committed=known)
        for item in fixes(then, given, forge.now()):
            return tuple(reversed(item.writes))
        for problem in locate(run_checks(then, given), {path: text}):
            if problem.severity is Severity.ERROR:
                raise FormatError(
                    problem.message + (f"; {problem.fix}" if problem.fix else ""),
                    path=problem.path,
                    line=problem.line,
                    field=problem.field,
                )
        return [new]

    return write(forge, decide, f"{old.kind.value} edit", how)


def relative(forge: Forge, names: Iterable[str], folder: Path) -> list[str]:
    """Return named files and folders as paths of entity files, relative to the registry's root.

    Args:
        forge: the registry.
        names: relative to `folder`, or absolute.
        folder: where the person stands.

    Raises UsageError for what lies outside the registry or does not exist.
    """
    out: list[str] = []
    for name in names:
        path = folder / name
        # Not `resolve`: a link below the registry is a finding of its own, under its own name.
        try:
            inside = (path.parent.resolve() / path.name).relative_to(forge.root).as_posix()
        except ValueError:
            raise UsageError(f"{name} lies outside the registry at {forge.root}") from None
        if path.is_dir() and not path.is_symlink():
            prefix = "" if inside == "." else f"{inside}/"
            registry = forge.registry()
            known = [entity_path(e) for e in registry] + [p.path for p in registry.problems]
            out.extend(sorted({p for p in known if p.startswith(prefix)}))
        elif path.exists() or path.is_symlink():
            out.append(inside)
        else:
            raise UsageError(f"{name} does not exist")
    return out


def _registry(forge: Forge, only: frozenset[str] | None) -> Registry:
    """Return the registry; for a few files one that reads what they lead to."""
    return forge.registry() if only is None else around(forge, only)


def around(forge: Forge, paths: Collection[str]) -> Registry:
    """Return the registry for questions about some files: it looks at them and at what they lead to.

    Args:
        forge: the registry.
        paths: of files, relative to its root; problems are known of these and of what they name.
    """
    part = PartialRegistry.as_asked(forge.catalogue, {path.rpartition("/")[0] for path in paths})
    for entity in CheckInput(only=frozenset(paths)).subjects(part):
        for _, target, _ in references(entity):
            part.get(target)
    return part.with_problems()


def _given(forge: Forge, registry: Registry, only: frozenset[str] | None) -> CheckInput:
    return CheckInput(
        texts=_texts(forge, registry, only),
        only=only,
        allowed=forge.allowed,
        committed=committed(forge, CheckInput(only=only).subjects(registry)),
    )


def _texts(forge: Forge, registry: Registry, only: frozenset[str] | None) -> dict[str, str]:
    """Return the texts whose wording is checked: those asked for."""
    paths = (entity_path(e) for e in registry) if only is None else only
    found = ((path, _text(forge, path)) for path in paths)
    return {path: text for path, text in found if text is not None}


def _more_texts(forge: Forge, problems: Iterable[Problem], known: Mapping[str, str]) -> dict[str, str]:
    paths = {p.path for p in problems if p.line is None and p.field and p.path not in known}
    found = ((path, _text(forge, path)) for path in paths)
    return {path: text for path, text in found if text is not None}


def _text(forge: Forge, path: str) -> str | None:
    try:
        data = files.read_bytes(forge.root, path)
        return None if data is None else frontmatter.decode(data)
    except FormatError:
        return None  # the catalogue has said so


def committed(forge: Forge, subjects: Iterable[Entity]) -> dict[EntityId, Decision]:
    """Return, for each decision edited in place, its last committed version whose text gives its id."""
    paths = [entity_path(e) for e in subjects if isinstance(e, Decision) and not text_gives_id(e)]
    try:
        found = {path: last_good(forge.store.repository, path, _gives_id) for path in paths}
    except RepositoryError:
        return {}  # what is wrong with git is said elsewhere, and the edit is a finding all the same
    entities = (files.parse(path, good[1])[0] for path, good in found.items() if good)
    return {entity.id: entity for entity in entities if isinstance(entity, Decision)}


def _gives_id(path: str, data: bytes) -> bool:
    entity, _ = files.parse(path, data)
    return isinstance(entity, Decision) and text_gives_id(entity)


def last_good(
    repository: Repository, path: str, good: Callable[[str, bytes], bool]
) -> tuple[str, bytes] | None:
    """Return commit and bytes of the newest committed version of a file that is good, or None.

    Args:
        repository: whose history is searched, `VERSIONS` commits deep.
        path: of the file.
        good: judges path and bytes; a FormatError of it is a no.
    """
    for commit in repository.log(path, limit=VERSIONS):
        with contextlib.suppress(FormatError, NotFoundError, KeyError):  # KeyError: a lost object
            data = repository.read_at(commit.id, path)
            if good(path, data):
                return commit.id, data
    return None
