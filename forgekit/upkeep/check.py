"""Check the registry, fix what needs no person, move files back to their places, accept an edited file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.checks import CheckInput, Fix, finding, fixes, locate, references_exist, text_gives_id
from forgekit.checks import check as run_checks
from forgekit.errors import (
    ChangedError,
    FormatError,
    NotFoundError,
    RepositoryError,
    StoreError,
    UsageError,
)
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen, replace
from forgekit.history import uncommitted
from forgekit.ids import EntityId
from forgekit.index.lazy_registry import PartialRegistry
from forgekit.model.entities import (
    FIELDS,
    Decision,
    Entity,
    Thread,
    entity_path,
    known_fields,
    references,
)
from forgekit.model.fields import INSTANT
from forgekit.model.kinds import Kind, kind_of_path, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.text import codec, frontmatter
from forgekit.times import DAY_MS, format_date
from forgekit.worktree import files
from forgekit.worktree.roots import cache_dir

if TYPE_CHECKING:
    from forgekit.change import Written
    from forgekit.git.repository import Repository
    from forgekit.store import Change, Outcome

VERSIONS = 50
"""Commits searched for the last good version of a file."""
_OF_ITSELF = frozenset({"id-derivation", "edited-in-place", "archive-changed"})


@frozen(kw_only=True)
class CheckReport:
    """What a check found.

    Attributes:
        problems: by path, with lines where they are known.
    """

    problems: tuple[Problem, ...]
    looked_at: int
    fixed: tuple[Fix, ...] = ()
    outcome: Outcome | None = None

    @property
    def errors(self) -> int:
        """How many problems must be fixed."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)


@frozen(kw_only=True)
class Move:
    """A file that is to go back to the path of the entity it holds.

    Attributes:
        home: where it belongs; nothing is there.
        committed: whether the last commit has it at `path`.
    """

    path: str
    home: str
    data: bytes
    committed: bool


def check(forge: Forge, paths: Sequence[str] | None = None, removed: Collection[str] = ()) -> CheckReport:
    """Check the registry, or the files at some paths.

    Args:
        paths: relative to its root; None for all, and for what git knows of them.
        removed: files that are about to go; who names them is a finding too.
    """
    only = None if paths is None else frozenset(paths)
    registry = forge.registry() if only is None or removed else around(forge, only)
    given = _given(forge, registry, only)
    problems = [each for problem in run_checks(registry, given) for each in _placed(forge, problem)]
    if only is None:
        problems += [*_by_git(forge), *_future(forge, registry)]
    problems += _rivals(forge, registry, only)
    problems += [problem for problem in left_behind(registry, removed) if problem not in problems]
    if any(problem.code == "not-canonical" and problem.fixable for problem in problems):
        edited = set(uncommitted(forge))  # which `fix` leaves alone
        problems = [_to_commit(p) if p.path in edited and p.code == "not-canonical" else p for p in problems]
    homes = {problem.message.rpartition(" ")[2] for problem in problems if problem.code == "misplaced"}
    problems = [p for p in problems if p.code != "deleted-file" or p.path not in homes]
    looked_at = sum(1 for _ in given.subjects(registry))
    located = locate(problems, lambda path: given.texts.get(path) or text_of(forge, path))
    return CheckReport(problems=tuple(sorted(located, key=lambda p: p.path)), looked_at=looked_at)


def _rivals(forge: Forge, registry: Registry, only: frozenset[str] | None) -> list[Problem]:
    """Find revisions in force side by side; all, or where a decision is among some files."""
    if only is not None and not (
        (cache_dir(forge.root).parent / "MERGE_HEAD").exists()
        and any(kind_of_path(path) is Kind.DECISION for path in only)
    ):
        return []  # what was merged before is found by a check of everything
    from forgekit.upkeep.rivals import unrecorded

    return unrecorded(forge.store.repository, registry.get)


def _by_git(forge: Forge) -> list[Problem]:
    from forgekit.git.health import registry_problems

    try:
        return list(registry_problems(forge.store.repository))
    except RepositoryError as e:
        return [Problem(code="git", path="", message=str(e), fix="run `forgekit doctor`")]


def _future(forge: Forge, registry: Registry) -> Iterator[Problem]:
    """Find entities with times after tomorrow: the clock of some machine, or the date, is wrong."""
    limit = forge.now() + DAY_MS
    names = {kind: [field.name for field in FIELDS[kind] if field.type is INSTANT] for kind in Kind}
    for entity in registry:
        for name in names[entity.kind]:
            at = getattr(entity, name)
            if at is not None and at > limit:
                message = f"{format_date(at)} is in the future, and the latest time wins for as long"
                fix = "correct the date, and the clock of the machine that wrote it"
                yield finding(entity, "future-dates", message, field=name, fix=fix, severity=Severity.WARNING)


def _to_commit(problem: Problem) -> Problem:
    """Return the problem of a file's form as it is while its content is not committed."""
    fix = "commit it first; `forgekit check --fix` rewrites it then" if problem.fixable else problem.fix
    return replace(problem, fix=fix, fixable=False)


def left_behind(registry: Registry, removed: Collection[str]) -> list[Problem]:
    """Return the broken references of entities that name removed ones.

    Args:
        registry: as it is without them; a file that is only taken out of the index may be in it still.
    """
    if not removed:
        return []
    gone = {owner[1] for path in removed if (owner := files.entity_of_path(path)) is not None}
    left = Registry.of((e for e in registry if e.id not in gone), registry.problems)
    naming = {entity_path(e) for e in left if any(target in gone for _, target, _ in references(e))}
    return sorted(references_exist(left, CheckInput(only=frozenset(naming))), key=lambda p: p.path)


def fix(forge: Forge, paths: Sequence[str] | None = None, options: WriteOptions = COMMITTED) -> CheckReport:
    """Fix what needs no person, in one commit, and check what is left.

    A decision edited in place becomes a revision, and a state changed in a file gets its time; both are
    uncommitted work as a rule. A misplaced file goes back to its place, its content kept; where the last
    commit has it there, in the work tree alone. Other files with uncommitted work are left alone: their form
    is fixed once their content is committed.
    """
    from forgekit.store import Change

    only = None if paths is None else frozenset(paths)
    moves = _moves(forge, only)

    def decide() -> Change:
        registry = forge.registry()
        plan = fixes(registry, _given(forge, registry, only), forge.now())
        repository = forge.store.repository
        clean = repository.blobs(repository.tip()).keys() - repository.changed_paths() if plan else set()
        edited = [item for item in plan if item.code in {"edited-in-place", "undated-change"}]
        writes = [entity for item in edited for entity in item.writes]
        clean -= {entity_path(entity) for entity in writes}
        form = [item for item in plan if item.code == "not-canonical" and item.path in clean]
        moved = [Fix(code="misplaced", path=m.path, message=f"moved to {m.home}", writes=()) for m in moves]
        edits = [item for item in plan if item in edited or item in form] + moved
        committed = [move for move in moves if move.committed]
        # A write keeps the form of a file, and the form is what is to be fixed here.
        contents: dict[str, bytes | None] = {
            item.path: codec.dumps(entity).encode() for item in form for entity in item.writes
        }
        contents |= {move.home: move.data for move in committed} | {move.path: None for move in committed}
        over = {item.path: files.read_bytes(forge.root, item.path) or b"" for item in edited}
        entities = (*writes, *(entity for item in form for entity in item.writes))
        return Change(
            writes=tuple(writes),
            files=contents,
            over=over | {move.path: move.data for move in committed},
            subject=f"check: fix {len(edits)} {'file' if len(edits) == 1 else 'files'}",
            trailers=(("Forgekit-Op", "check --fix"), *(("Forgekit-Entity", e.id) for e in entities)),
            result=tuple(edits),
        )

    outcome = forge.commit(decide, options)
    for move in moves:
        if not (options.dry_run or move.committed):
            move_back(forge, move)
    fixed = outcome.change.result
    assert isinstance(fixed, tuple)  # noqa: S101 - what decide put there
    return replace(check(forge, paths), fixed=fixed, outcome=outcome)


def _moves(forge: Forge, only: frozenset[str] | None) -> list[Move]:
    """Return how the misplaced files among all, or some, go back to their places."""
    found = (each for problem in forge.registry().problems for each in _placed(forge, problem))
    found = (each for each in found if each.fixable and (only is None or each.path in only))
    moves = (move_of(forge, problem.path) for problem in found)
    return [move for move in moves if move is not None]


def accept(forge: Forge, old: Entity, before: str, text: str, options: WriteOptions) -> Written:
    """Write what an editor left of an entity's file; a decision whose text was changed becomes a revision.

    The file becomes what the person left, comments and layout included, with the time of a changed state; a
    revision takes new comments along.

    Args:
        old: the entity as it was when the editor opened.
        before: its file then.

    Raises FormatError for the first error in the text, ChangedError when the entity moved on meanwhile.
    """
    from forgekit.change import write
    from forgekit.text import edit

    path = entity_path(old)
    try:
        new = codec.loads(old.kind, frontmatter.decode(text.encode()))
    except FormatError as e:
        raise e.at(short_id(old.kind, old.id)) from None
    if new.id != old.id:
        raise FormatError("is the file's name and cannot change", path=path, field=old.kind.id_field)

    def decide(registry: Registry) -> Sequence[Entity]:
        if registry.get(old.id) != old or text_of(forge, path) != before:
            raise ChangedError(path)
        then = Registry.of([*(e for e in registry if e.id != old.id), new], registry.problems)
        known = {old.id: old} if isinstance(old, Decision) and text_gives_id(old) else {}
        thread = {old.id: old} if isinstance(old, Thread) else {}
        given = CheckInput(only=frozenset({path}), committed=known, before=thread)
        writes = next((item.writes[::-1] for item in fixes(then, given, forge.now())), (new,))
        problems = [p for p in run_checks(then, given) if new in writes or p.code != "edited-in-place"]
        for problem in locate([*_not_taken_along(old, new, writes[0]), *problems], {path: text}.get):
            if problem.severity is Severity.ERROR or problem.code == "no-resolution":
                raise FormatError(
                    problem.message + (f"; {problem.fix}" if problem.fix else ""),
                    path=problem.path,
                    line=problem.line,
                    field=problem.field,
                )
        return writes

    def texts(writes: Sequence[Entity]) -> dict[str, bytes]:
        if writes[0].id == new.id:
            return {path: _as_git_has_it(forge, path, edit.update(text, writes[0]))}
        added = [line for line in edit.comments(text) if line not in edit.comments(before)]
        made = edit.with_comments(codec.dumps(writes[0]), added)
        return {entity_path(writes[0]): made.encode()}

    return write(forge, decide, f"{old.kind.value} edit", options, texts)


def _as_git_has_it(forge: Forge, path: str, text: str) -> bytes:
    """Return the bytes of an edited file, with LF where git made CRLF of it on checkout."""
    repository = forge.store.repository
    blob = repository.blob_id(repository.tip(), path)
    converted = blob is not None and b"\r\n" not in repository.read_blob(blob)
    return (text.replace("\r\n", "\n") if converted else text).encode()


def _not_taken_along(old: Entity, edited: Entity, made: Entity) -> Iterable[Problem]:
    """Find what was changed in a text that becomes a revision, and the revision does not say."""
    if made.id != old.id:
        for name in known_fields(old.kind):
            value = getattr(edited, name)
            if value != getattr(old, name) and (name == "status" or value != getattr(made, name)):
                message = "cannot be changed along with the text, which makes a new decision"
                yield finding(
                    edited, "not-taken-along", message, field=name, fix="undo this change, or make it alone"
                )


def relative(forge: Forge, names: Iterable[str], folder: Path) -> list[str]:
    """Return named files and folders as paths of entity files, relative to the registry's root.

    Args:
        names: relative to `folder`, or absolute.

    Raises UsageError for what lies outside the registry, does not exist or holds no file of it.
    """
    out: list[str] = []
    for name in names:
        path = Path(os.path.normpath(folder / name))
        # Not `resolve`: a link below the registry is a finding of its own, under its own name.
        try:
            inside = (path.parent.resolve() / path.name).relative_to(forge.root).as_posix()
        except ValueError:
            raise UsageError(f"{name} lies outside the registry at {forge.root}") from None
        if path.is_dir() and not path.is_symlink():
            prefix = "" if inside == "." else f"{inside}/"
            registry = forge.registry()
            known = [entity_path(e) for e in registry] + [p.path for p in registry.problems]
            found = sorted({p for p in known if p.startswith(prefix)})
            if not found and prefix:
                raise UsageError(f"no file of the registry lies in {name}; nothing was checked")
            out.extend(found)
        elif path.exists() or path.is_symlink():
            out.append(inside)
        else:
            raise UsageError(f"{name} does not exist")
    return out


def around(forge: Forge, paths: Collection[str]) -> Registry:
    """Return the registry for questions about some files: it looks at them and at what they lead to.

    Args:
        paths: of files, relative to its root; problems are known of these and of what they name.
    """
    part = PartialRegistry.as_asked(forge.catalogue, {path.rpartition("/")[0] for path in paths})
    for entity in CheckInput(only=frozenset(paths)).subjects(part):
        for _, target, _ in references(entity):
            part.get(target)
    return part.with_problems()


def _given(forge: Forge, registry: Registry, only: frozenset[str] | None) -> CheckInput:
    """Return what the checks may know, with the texts of all files that are asked for."""
    paths = (entity_path(e) for e in registry) if only is None else only
    texts = ((path, text_of(forge, path)) for path in paths)
    return CheckInput(
        texts={path: text for path, text in texts if text is not None},
        only=only,
        allowed=forge.allowed,
        committed=committed(forge, CheckInput(only=only).subjects(registry)),
        before=_threads_before(forge, registry, only),
    )


def _threads_before(forge: Forge, registry: Registry, only: frozenset[str] | None) -> dict[EntityId, Thread]:
    """Return the changed threads among all, or some files, as the last commit has them."""
    changed = CheckInput(only=frozenset(uncommitted(forge)) if only is None else only).subjects(registry)
    found = {}
    for path in [entity_path(e) for e in changed if isinstance(e, Thread)]:
        with contextlib.suppress(FormatError, RepositoryError):
            old = files.parse(path, at_tip(forge.store.repository, path) or b"")[0]
            if isinstance(old, Thread):
                found[old.id] = old
    return found


def text_of(forge: Forge, path: str) -> str | None:
    """Return the text of a file, or None where there is none; one that cannot be read has been reported."""
    try:
        data = files.read_bytes(forge.root, path)
        return None if data is None else frontmatter.decode(data)
    except FormatError:
        return None


def committed(forge: Forge, subjects: Iterable[Entity]) -> dict[EntityId, Decision]:
    """Return, for each decision edited in place, its last committed version whose text gives its id."""
    paths = [entity_path(e) for e in subjects if isinstance(e, Decision) and not text_gives_id(e)]
    try:
        found = {path: last_good(forge.store.repository, path, _gives_id) for path in paths}
    except RepositoryError:
        return {}  # damage of git is reported elsewhere, and the edit is a finding anyway
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
        good: judges path and bytes; a FormatError of it is a no.
    """
    for commit in repository.log(path, limit=VERSIONS):
        with contextlib.suppress(FormatError, NotFoundError, RepositoryError):  # the last: a lost object
            data = repository.read_at(commit.id, path)
            if good(path, data):
                return commit.id, data
    return None


def _placed(forge: Forge, problem: Problem) -> list[Problem]:
    """Return a problem; for a file that holds an entity whose place is empty, say where it belongs.

    A folder that the registry has no place for is looked into.
    """
    if problem.code not in {"stray-file", "misplaced"}:
        return [problem]
    place = forge.root / problem.path
    if not place.is_dir() or place.is_symlink():
        return [_misplaced(forge, problem) or problem]
    inner = sorted(path.relative_to(forge.root).as_posix() for path in place.rglob("*") if path.is_file())
    found = [_misplaced(forge, replace(problem, path=path)) for path in inner]
    moved = [each for each in found if each is not None]
    return moved if moved and len(moved) == len(found) else [problem, *moved]


def _misplaced(forge: Forge, problem: Problem) -> Problem | None:
    entity = _entity_in(forge, problem.path)
    if entity is None or "/.git" in problem.path:  # git gives these names a meaning
        return None
    home = entity_path(entity)
    message = f"holds {entity.id}, whose place is {home}"
    if (forge.root / home).exists():
        fix = "keep what is right in that file, and delete this one"
        code = "duplicate-id" if problem.code == "misplaced" else problem.code
        return replace(problem, code=code, message=message, fix=fix)
    if move_of(forge, problem.path) is None:
        return replace(problem, code="misplaced", message=message, fix="restore its id, or move it there")
    fix = f"`forgekit check --fix` moves it to {home}"
    return replace(problem, code="misplaced", message=message, fix=fix, fixable=True)


def move_of(forge: Forge, path: str) -> Move | None:
    """Return how a misplaced file goes back to its place.

    None where something is there, where the entity has faults of its own, or where the last commit has
    another sound entity at the path: then the file was overwritten or its id edited, not moved.
    """
    entity = _entity_in(forge, path)
    if entity is None or (forge.root / entity_path(entity)).exists():
        return None
    home, data = entity_path(entity), files.read_bytes(forge.root, path) or b""
    before = at_tip(forge.store.repository, path)
    if not sound(home, data) or (before is not None and sound(path, before)):
        return None
    return Move(path=path, home=home, data=data, committed=before is not None)


def move_back(forge: Forge, move: Move) -> None:
    """Move a file in the work tree, and in the index where it is staged.

    Raises WriteError, RepositoryError.
    """
    repository = forge.store.repository
    files.replace(forge.root, move.home, move.data, "move")
    files.remove(forge.root, move.path)
    files.settle(forge.root, (move.home, move.path))
    staged = repository.run("ls-files", "--stage", "-z", "--", move.path).decode().partition(" 0\t")[0]
    if staged:
        # Not `git mv`, which may run the clone's filters.
        rows = f"0 {'0' * 40}\t{repository.prefix}{move.path}\0{staged}\t{repository.prefix}{move.home}\0"
        repository.run("-C", str(repository.top), "update-index", "-z", "--index-info", stdin=rows.encode())


def _entity_in(forge: Forge, path: str) -> Entity | None:
    """Return the entity that a file holds, wherever the file is."""
    try:
        text = frontmatter.decode(files.read_bytes(forge.root, path) or b"")
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


def at_tip(repository: Repository, path: str) -> bytes | None:
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
    return not any(problem.code in _OF_ITSELF for problem in run_checks(Registry.of([entity])))
