"""What may be wrong with a registry and around it. Each finding says what it means and what to do.

Damage of git's own files is found by `git.health`, that of the registry's files by `damage`; here is what
lies around both: settings, hooks, cache, model, machine.
"""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from forgekit.checks.list import check as run_checks
from forgekit.errors import (
    ForgeError,
    FormatError,
    NoRegistryError,
    NotFoundError,
    RepositoryError,
    StoreError,
)
from forgekit.forge import Forge
from forgekit.git import driver, health
from forgekit.git.repository import Repository
from forgekit.index.catalogue import engine, fault
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.settings import SETTINGS_FILE
from forgekit.models.encoder import Missing
from forgekit.models.judges import find_judge
from forgekit.models.trained_judge import Damaged
from forgekit.text import codec, frontmatter
from forgekit.times import DAY_MS, Instant, format_date
from forgekit.upkeep import check
from forgekit.upkeep.init_migrate import ATTRIBUTES_FILE, is_older, wanted
from forgekit.worktree import files
from forgekit.worktree.files import read_bytes
from forgekit.worktree.roots import TOPS, cache_dir, find_root, work_tree
from forgekit.worktree.settings import load_settings, require_schema

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
        for problem in check.check(forge).problems
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


SPARE_BYTES = 100_000_000
"""A disk with less room than this is nearly full."""

_SAMPLES = tuple(f"{top}/sample.md" for top in ("archives/2023-11", "registry/decisions/2023-11"))
_HARMFUL = frozenset({"filter", "working-tree-encoding", "ident", "eol"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        subject: in one or two words; for damage, the name of its kind.
        good: whether it is as it should be.
        message: how it is.
        advice: what to do, or "".
        path: of the file at fault, or "".
    """

    subject: str
    good: bool
    message: str
    advice: str = ""
    path: str = ""


def root_for(start: Path, env: dict[str, str]) -> Path:
    """Return the registry's root, also where its settings file is gone and its folders are there.

    Raises NoRegistryError.
    """
    try:
        return find_root(start, env)
    except NoRegistryError:
        try:
            top = work_tree(start)
        except RepositoryError:
            top = start
        if all((top / folder).is_dir() for folder in TOPS):
            return top.resolve()
        raise


def diagnose(root: Path) -> list[Diagnosis]:
    """Look at everything in and around the registry at a root."""
    machine = [_fts5(), *_model(root), *_judge(root)]
    return [*_git(root), *_settings(root), *_cache(root), *machine, *_files(root), _disk(root)]


def _bad(problem: Problem) -> Diagnosis:
    place = ":".join(str(part) for part in (problem.path, problem.line) if part)
    message = ": ".join(part for part in (place, problem.field, problem.message) if part)
    return Diagnosis(subject=problem.code, good=False, message=message, advice=problem.fix, path=problem.path)


def _git(root: Path) -> Iterator[Diagnosis]:
    problems = health.look(root)
    yield from map(_bad, problems)
    try:
        repository = Repository(root)
        head = repository.head()
    except RepositoryError:
        return  # said above
    if not problems:
        kind = "linked work tree" if repository.git_dir != repository.common_dir else "work tree"
        where = f"{kind} at {repository.top}, on {head.ref.removeprefix('refs/heads/')}"
        message = where if head.commit else f"{where}, without commits"
        yield Diagnosis(subject="git", good=True, message=message)
    try:
        who = repository.identity("COMMITTER")
    except RepositoryError as e:
        yield Diagnosis(subject="identity", good=False, message=str(e))
    else:
        yield Diagnosis(subject="identity", good=True, message=f"{who.name} <{who.email}>")
    yield from _attributes(repository)
    yield from _merging(repository)
    yield from _hooks(repository)


def _attributes(repository: Repository) -> Iterator[Diagnosis]:
    """Find attributes by which git would change bytes on their way in or out, or merge them blindly."""
    root = repository.root
    try:
        lacking = ATTRIBUTES_FILE in wanted(root)
    except FormatError:
        lacking = False  # said of the settings or of the folders
    said = repository.attempt("check-attr", "--all", "--", *_SAMPLES).stdout.decode("utf-8", "replace")
    rows = [line.split(": ") for line in said.splitlines() if line.count(": ") == 2]
    harmful = sorted({f"{n}={v}" for _, n, v in rows if n in _HARMFUL or (n == "merge" and v == "union")})
    if harmful:
        yield Diagnosis(
            subject="attributes-harmful",
            good=False,
            message=f"git attributes change what is stored or merged: {', '.join(harmful)}",
            advice=f"delete those lines in {ATTRIBUTES_FILE} (or in .git/info/attributes)",
            path=ATTRIBUTES_FILE,
        )
    if lacking or [_SAMPLES[0], "text", "unset"] not in rows:
        yield Diagnosis(
            subject="attributes-lost",
            good=False,
            message=f"{ATTRIBUTES_FILE} lacks lines of forgekit: git may change line ends or merge blindly",
            advice="`forgekit init` puts it back",
            path=ATTRIBUTES_FILE,
        )


def _merging(repository: Repository) -> Iterator[Diagnosis]:
    """Find a clone in which git does not know how to merge the registry's files."""
    lack = driver.lack(repository)
    if lack:
        yield Diagnosis(subject="driver-missing", good=False, message=lack, advice="run `forgekit init` here")


def _hooks(repository: Repository) -> Iterator[Diagnosis]:
    """Find a clone in which the checks that its people agreed on do not run."""
    try:
        config = read_bytes(repository.top, ".pre-commit-config.yaml") or b""
    except FormatError:
        return  # a link, say: nobody can tell what was agreed on
    if b"forgekit" not in config:
        return
    hook = repository.common_dir / "hooks" / "pre-commit"
    said = repository.attempt("config", "--type=path", "--get-all", "-z", "core.hooksPath").stdout
    elsewhere = said.decode("utf-8", "surrogateescape").split("\0")[:-2]  # the last is what we run git with
    if elsewhere:
        hook = repository.top / elsewhere[-1] / "pre-commit"
    if not hook.exists():
        yield Diagnosis(
            subject="hooks-missing",
            good=False,
            message="the checks of .pre-commit-config.yaml do not run in this clone: a commit is not checked",
            advice="`pre-commit install`",
        )


def _settings(root: Path) -> Iterator[Diagnosis]:
    if not (root / SETTINGS_FILE).exists():
        message = f"{SETTINGS_FILE} is gone: no other command finds the registry"
        advice = f"`git restore {SETTINGS_FILE}`"
        yield Diagnosis(
            subject="settings-missing", good=False, message=message, advice=advice, path=SETTINGS_FILE
        )
        return
    try:
        require_schema(root)
    except FormatError as e:
        older = is_older(root)
        yield Diagnosis(
            subject="older-schema" if older else "newer-schema",
            good=False,
            message=f"{e}; until then nothing is read or written",
            advice="`forgekit doctor --repair --yes`" if older else "upgrade forgekit",
            path=SETTINGS_FILE,
        )
        return
    try:
        load_settings(root)
    except FormatError as e:
        advice = "mend forgekit.toml; most commands refuse to run until then"
        yield Diagnosis(subject="settings", good=False, message=str(e), advice=advice, path=SETTINGS_FILE)
        return
    yield Diagnosis(subject="settings", good=True, message="forgekit.toml can be read")


def _cache(root: Path) -> Iterator[Diagnosis]:
    try:
        cache = cache_dir(root)
    except RepositoryError:
        return
    place = next(p for p in (cache, *cache.parents) if p.exists())
    if place == cache and not cache.is_dir():
        message = f"{cache} is no folder: nothing can be written"
        advice = f"move {cache} away"
        yield Diagnosis(subject="cache-blocked", good=False, message=message, advice=advice, path=str(cache))
        return
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "make it writable; until then every command reads all files"
        yield Diagnosis(subject="cache", good=False, message=f"{place} cannot be written", advice=advice)
        return
    broken = list(_damaged(cache))
    for path, why in broken:
        yield Diagnosis(
            subject="cache-damaged",
            good=False,
            message=f"{path} is damaged ({why}): answers stay right, and are slower once",
            advice="the next command that needs it makes it anew; `forgekit index build --force` does so now",
            path=str(path),
        )
    if not broken:
        size = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file())
        message = f"{cache}, {size / 1e6:.1f} MB; it can be deleted at any time"
        yield Diagnosis(subject="cache", good=True, message=message)


def _damaged(cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the cache that cannot be what was written, and why."""
    from forgekit.index.vector_index import sound

    for path in sorted({*cache.glob("catalogue-*.sqlite"), *cache.glob("vectors.sqlite")}):
        if why := fault(path):
            yield path, why
    for path in sorted(cache.glob("vectors-*.json")):
        if not sound(path):
            yield path, "its files are not as it says"


def _fts5() -> Diagnosis:
    version, found = engine()
    if not found:
        advice = "use a Python whose sqlite3 has FTS5"
        return Diagnosis(subject="search", good=False, message=f"SQLite {version} has no FTS5", advice=advice)
    return Diagnosis(subject="search", good=True, message=f"SQLite {version} with FTS5")


def _model(root: Path) -> Iterator[Diagnosis]:
    try:
        forge = Forge.open(root)
        vectors = forge.vectors
        if isinstance(forge.encoder, Missing):
            # Without a model a search is by words; one that somebody asked for must be there.
            good, missing = forge.settings.model is None, forge.encoder
            yield Diagnosis(subject="model", good=good, message=missing.reason, advice=missing.hint)
            return
    except ForgeError:
        return  # said of git or of the settings
    if vectors is not None:
        try:
            forge.encoder.encode_queries([""])
        except (ForgeError, OSError) as e:
            yield Diagnosis(subject="model", good=False, message=str(e), advice="fetch it again")
            return
        state = vectors.status()
        size = f"{state.count:,} vectors ({state.kind}), {state.size / 1e6:.1f} MB"
        yield Diagnosis(subject="model", good=True, message=f"{state.model}, {size}")


def _judge(root: Path) -> Iterator[Diagnosis]:
    try:
        settings = load_settings(root)
    except ForgeError:
        return  # said of the settings
    for warning in settings.warnings:
        yield Diagnosis(subject="judge", good=True, message=warning.message, advice=warning.fix)
    found = find_judge(settings, cache_dir(root))
    if isinstance(found, Missing):
        good = not isinstance(found, Damaged)
        yield Diagnosis(subject="judge", good=good, message=f"no findings: {found.reason}", advice=found.hint)
        return
    expected = f": {found.calibration}" if found.calibration else ""
    yield Diagnosis(subject="judge", good=True, message=f"{settings.judge.value}{expected}")


def _files(root: Path) -> Iterator[Diagnosis]:
    try:
        forge = Forge.open(root)
        problems = list(look(forge))
        late = future(forge)
    except (ForgeError, KeyError) as e:  # KeyError: an object that git lost
        advice = "mend what is said above first"
        yield Diagnosis(subject="files", good=False, message=f"cannot be looked at: {e}", advice=advice)
        return
    problems += [late] if late else []
    yield from map(_bad, problems)
    if not problems:
        yield Diagnosis(subject="files", good=True, message="every file can be read and is where it belongs")


def _disk(root: Path) -> Diagnosis:
    free = shutil.disk_usage(root).free
    message = f"{free / 1e6:,.0f} MB are free at {root}"
    if free >= SPARE_BYTES:
        return Diagnosis(subject="disk", good=True, message=message)
    advice = "make room: a write that does not fit is refused"
    return Diagnosis(subject="disk-full", good=False, message=message, advice=advice)


def bad(findings: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Return what is not as it should be."""
    return [finding for finding in findings if not finding.good]
