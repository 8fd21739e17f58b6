"""Diagnose a registry and what lies around it; each finding has its meaning and what to do.

Damage of git's own files is found by `git.health`, that of the registry's files by `check`; here are
settings, hooks, cache, model and machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from forgekit.errors import ForgeError, FormatError, NoRegistryError, RepositoryError
from forgekit.forge import Forge
from forgekit.frozen import frozen, replace
from forgekit.git import driver, health
from forgekit.git.repository import Repository
from forgekit.index.database import engine, fault
from forgekit.model.problem import Problem, Severity
from forgekit.model.settings import SETTINGS_FILE, ModelKind
from forgekit.models.choice import find_judge, find_reader
from forgekit.models.encoder import Missing
from forgekit.models.shipped import Damaged
from forgekit.text import frontmatter
from forgekit.text.blocks import count
from forgekit.upkeep import check
from forgekit.upkeep.init_migrate import ATTRIBUTES_FILE, is_older, wanted
from forgekit.worktree import files, local_state
from forgekit.worktree.roots import (
    TOPS,
    cache_dir,
    find_root,
    hook_log,
    load_settings,
    require_schema,
    work_tree,
)

MEANING = {
    "empty-file": "its text is gone",
    "truncated-file": "the end of its text is gone",
    "unreadable-file": "its content is not used until it can be read",
    "conflict-markers": "it holds two versions, and neither is used until a person chooses",
    "misplaced": "no command finds an entity under another file name than its id",
    "duplicate-id": "two files claim one id, and only the one at the id's place is used",
    "twin": "a file system that ignores case or Unicode form keeps one of the two only",
    "symlink": "what it leads to is not part of the registry and is not read",
    "stray-file": "nothing reads it, and a merge or an export leaves it out",
    "broken-reference": "what is named there is gone, so nobody can follow it",
    "cycle": "the circle has no beginning, so there is no order",
    "edited-in-place": "whoever cited the decision now cites another text",
    "archive-changed": "it is no longer the text that was filed",
    "archive-deleted": "what came of it can no longer be compared with it",
    "id-derivation": "another machine makes another id from the same text",
    "project-mismatch": "it is listed under one project and counted in another",
    "status-fields": "nobody can see what took its place",
}
"""Code of a problem -> what it means for whoever relies on the registry."""

_BRING_BACK = "correct it, or let `forgekit doctor --repair` bring back the last good version"
_ADVICE = {
    "empty-file": _BRING_BACK,
    "truncated-file": _BRING_BACK,
    "unreadable-file": _BRING_BACK,
    "conflict-markers": "choose a side, and delete the lines of the markers",
}
_REMARKS = frozenset({"status-fields", "future-dates"})
_GIT = frozenset({"git", "broken-index", "unfinished-merge"})
"""What `health.git_problems` has reported already."""


def file_problems(forge: Forge) -> list[Problem]:
    """Return what is wrong with the files, by path, each with its meaning in the message."""
    return [
        replace(
            problem,
            code=(code := _unreadable(forge, problem.path) if problem.code == "format" else problem.code),
            message="; ".join(filter(None, (problem.message, MEANING.get(code)))),
            fix=problem.fix or _ADVICE.get(code, "correct it in an editor"),
        )
        for problem in check.check(forge).problems
        if (problem.severity is Severity.ERROR and problem.code not in _GIT) or problem.code in _REMARKS
    ]


def _unreadable(forge: Forge, path: str) -> str:
    try:
        data = files.read_bytes(forge.root, path)
    except FormatError:
        return "unreadable-file"
    if data is None or not data.strip(b"\0\r\n\t "):
        return "empty-file"
    if frontmatter.conflict_marker(data.decode("utf-8", "replace")):
        return "conflict-markers"
    before = check.at_tip(forge.store.repository, path)
    cut = before is not None and len(data) < len(before) and before.startswith(data)
    return "truncated-file" if cut else "unreadable-file"


SPARE_BYTES = 100_000_000
"""A disk with less room than this is nearly full."""


@frozen()
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        subject: in one or two words; for damage, the name of its kind.
        good: whether it is as it should be.
    """

    subject: str
    message: str
    advice: str = ""
    path: str = ""
    good: bool = False


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
    """Examine everything in and around the registry at a root."""
    machine = [_fts5(), *_model(root), *_judge(root)]
    return [*_git(root), _settings(root), *_cache(root), *machine, *_agents(root), *_files(root), _disk(root)]


def _of_problem(problem: Problem) -> Diagnosis:
    return Diagnosis(problem.code, str(replace(problem, fix="")), problem.fix, problem.path)


def _git(root: Path) -> Iterator[Diagnosis]:
    problems = health.git_problems(root)
    yield from map(_of_problem, problems)
    try:
        repository = Repository(root)
        head = repository.head()
    except RepositoryError:
        return  # reported above
    if not problems:
        kind = "linked work tree" if repository.git_dir != repository.common_dir else "work tree"
        where = f"{kind} at {repository.top}, on {head.ref.removeprefix('refs/heads/')}"
        yield Diagnosis("git", where if head.commit else f"{where}, without commits", good=True)
    try:
        who = repository.identity("COMMITTER")
        yield Diagnosis("identity", f"{who.name} <{who.email}>", good=True)
    except RepositoryError as e:
        yield Diagnosis("identity", str(e))
    if repository.attempt("config", "--type=bool", "commit.gpgSign").stdout.strip() == b"true":
        message = "commit.gpgSign is set, and no commit that forgekit makes is signed"
        yield Diagnosis("signing", message, "`git commit --amend --no-edit -S` signs the last one", good=True)
    yield from _attributes(repository)
    if why := driver.fault(repository):
        yield Diagnosis("driver-missing", why, "run `forgekit init` here")
    yield from _hooks(repository)


def _attributes(repository: Repository) -> Iterator[Diagnosis]:
    """Find a clone whose attributes lack those that keep archives as they are."""
    try:
        lacking = ATTRIBUTES_FILE in wanted(repository.root)
    except FormatError:
        lacking = False  # reported of the settings or of the folders
    if lacking or not health.keeps_bytes(repository):
        message = f"{ATTRIBUTES_FILE} lacks lines of forgekit: git may change line ends or merge by lines"
        yield Diagnosis("attributes-lost", message, "`forgekit init` puts it back", ATTRIBUTES_FILE)
        return
    with suppress(ForgeError):  # reported of git
        tip = repository.tip()
        if repository.blob_id(tip, SETTINGS_FILE) and not repository.blob_id(tip, ATTRIBUTES_FILE):
            message = f"{ATTRIBUTES_FILE} is not in the last commit: other clones lack the lines of forgekit"
            advice = f"`git add {ATTRIBUTES_FILE}`, and commit it"
            yield Diagnosis("attributes-uncommitted", message, advice, ATTRIBUTES_FILE)


def _hooks(repository: Repository) -> Iterator[Diagnosis]:
    """Find a clone in which the checks of its pre-commit configuration do not run."""
    try:
        config = files.read_bytes(repository.top, ".pre-commit-config.yaml") or b""
    except FormatError:
        return  # a link, say
    if b"forgekit" not in config:
        return
    hook = repository.common_dir / "hooks" / "pre-commit"
    listed = repository.attempt("config", "--type=path", "--get-all", "-z", "core.hooksPath").stdout
    elsewhere = listed.decode("utf-8", "surrogateescape").split("\0")[:-2]  # the last is what we run git with
    if elsewhere:
        hook = repository.top / elsewhere[-1] / "pre-commit"
    if not hook.exists():
        message = "the checks of .pre-commit-config.yaml do not run in this clone: a commit is not checked"
        yield Diagnosis("hooks-missing", message, "`pre-commit install`")


def _settings(root: Path) -> Diagnosis:
    if not (root / SETTINGS_FILE).exists():
        message = f"{SETTINGS_FILE} is gone: no other command finds the registry"
        return Diagnosis("settings-missing", message, f"`git restore {SETTINGS_FILE}`", SETTINGS_FILE)
    try:
        require_schema(root)
    except FormatError as e:
        message = f"{e}; until then nothing is read or written"
        if is_older(root):
            return Diagnosis(
                "older-schema", message, "`forgekit init`, or `forgekit doctor --repair --yes`", SETTINGS_FILE
            )
        return Diagnosis("newer-schema", message, "upgrade forgekit", SETTINGS_FILE)
    try:
        load_settings(root)
    except FormatError as e:
        advice = "correct forgekit.toml; most commands refuse to run until then"
        return Diagnosis("settings", str(e), advice, SETTINGS_FILE)
    return Diagnosis("settings", "forgekit.toml can be read", good=True)


def _cache(root: Path) -> Iterator[Diagnosis]:
    try:
        cache = cache_dir(root)
    except RepositoryError:
        return
    place = next(p for p in (cache, *cache.parents) if p.exists())
    if place == cache and not cache.is_dir():
        message = f"{cache} is no folder: nothing can be written"
        yield Diagnosis("cache-blocked", message, f"move {cache} away", str(cache))
        return
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "make it writable; until then every command reads all files"
        yield Diagnosis("cache", f"{place} cannot be written", advice)
        return
    broken = list(_damaged(cache))
    for path, why in broken:
        message = f"{path} is damaged ({why}): answers stay right, and are slower once"
        advice = "the next command that needs it rebuilds it; `forgekit index build --force` does so now"
        yield Diagnosis("cache-damaged", message, advice, str(path))
    if not broken:
        size = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file())
        yield Diagnosis("cache", f"{cache}, {size / 1e6:.1f} MB; it can be deleted at any time", good=True)


def _damaged(cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the cache that cannot be what was written, and why."""
    from forgekit.index.vector_index import is_sound

    for path in sorted({*cache.glob("catalogue-*.sqlite"), *cache.glob("vectors.sqlite")}):
        if why := fault(path):
            yield path, why
    for path in sorted(cache.glob("vectors-*.json")):
        if not is_sound(path):
            yield path, "its files are not those that it lists"


def _fts5() -> Diagnosis:
    version, found = engine()
    if found:
        return Diagnosis("search", f"SQLite {version} with FTS5", good=True)
    return Diagnosis("search", f"SQLite {version} has no FTS5", "use a Python whose sqlite3 has FTS5")


def _model(root: Path) -> Iterator[Diagnosis]:
    try:
        forge = Forge.open(root)
        vectors = forge.vectors
        if isinstance(forge.encoder, Missing):
            # Without a model a search is by words; one that somebody asked for must be there.
            good, missing = forge.settings.model is None, forge.encoder
            yield Diagnosis("model", missing.reason, missing.hint, good=good)
            return
    except ForgeError:
        return  # reported of git or of the settings
    if vectors is not None:
        try:
            forge.encoder.encode_queries([""])
        except (ForgeError, OSError) as e:
            yield Diagnosis("model", str(e), "fetch it again")
            return
        state = vectors.status()
        size = f"{state.count:,} vectors ({state.kind}), {state.size / 1e6:.1f} MB"
        yield Diagnosis("model", f"{state.model}, {size}", good=True)


def _judge(root: Path) -> Iterator[Diagnosis]:
    try:
        settings = load_settings(root)
        found = find_judge(settings, cache_dir(root))
    except ForgeError:
        return  # reported of git or of the settings
    for warning in settings.warnings:
        yield Diagnosis("judge", warning.message, warning.fix, good=True)
    reader = find_reader(settings, cache_dir(root))
    if isinstance(reader, Missing) and (isinstance(reader, Damaged) or settings.reader is ModelKind.LLM):
        yield Diagnosis("reader", f"no sentences are read: {reader.reason}", reader.hint)
    if isinstance(found, Missing):
        good = not isinstance(found, Damaged)
        yield Diagnosis("judge", f"no findings: {found.reason}", found.hint, good=good)
        return
    expected = f": {found.calibration}" if found.calibration else ""
    yield Diagnosis("judge", f"{settings.judge.value}{expected}", good=True)


def _agents(root: Path) -> Iterator[Diagnosis]:
    """Report what the hooks of coding agents could not do."""
    try:
        if failures := local_state.unfiled(root):
            message = f"{count(len(failures), 'session')} could not be ingested: {failures[-1]}"
            advice = "mend that; then `forgekit hook claude-code ingest-queued < /dev/null` ingests them"
            yield Diagnosis("sessions-unfiled", message, advice)
        lines = hook_log(root).read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ForgeError):
        return
    if lines:
        times = "once" if len(lines) == 1 else f"{len(lines):,} times"
        message = f"a hook of a coding agent failed {times}, the last time: {lines[-1]}"
        advice = f"what was wrong may be gone; delete {hook_log(root)}"
        yield Diagnosis("agent hooks", message, advice, good=True)


def _files(root: Path) -> Iterator[Diagnosis]:
    try:
        problems = file_problems(Forge.open(root))
    except ForgeError as e:
        yield Diagnosis("files", f"cannot be read: {e}", "repair what is reported above first")
        return
    yield from map(_of_problem, problems)
    if not problems:
        yield Diagnosis("files", "every file can be read and is where it belongs", good=True)


def _disk(root: Path) -> Diagnosis:
    free = shutil.disk_usage(root).free
    message = f"{free / 1e6:,.0f} MB are free at {root}"
    if free >= SPARE_BYTES:
        return Diagnosis("disk", message, good=True)
    return Diagnosis("disk-full", message, "make room: a write that does not fit is refused")


def bad(findings: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Return the findings of damage."""
    return [finding for finding in findings if not finding.good]
