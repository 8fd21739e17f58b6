"""What may be wrong with a registry and around it. Each finding says what it means and what to do.

Damage of git's own files is found by `git.health`, that of the registry's files by `damage`; here is what
lies around both: settings, hooks, cache, model, machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forgekit.catalogue.catalogue import engine, fault
from forgekit.embedding.encoder import Missing
from forgekit.errors import ForgeError, FormatError, NoRegistryError, RepositoryError
from forgekit.forge import Forge
from forgekit.git import driver, health
from forgekit.git.repository import Repository
from forgekit.judges import judge_in_force
from forgekit.model.problem import Problem
from forgekit.model.schema import SETTINGS_FILE
from forgekit.store.files import read_bytes
from forgekit.store.roots import TOPS, cache_dir, find_root, work_tree
from forgekit.store.settings import load_settings, require_schema
from forgekit.upkeep import damage
from forgekit.upkeep.initialising import ATTRIBUTES_FILE, wanted
from forgekit.upkeep.migrating import is_older

SPARE_BYTES = 100_000_000
"""A disk with less room than this is nearly full."""

_SAMPLES = tuple(f"{top}/sample.md" for top in ("archives/2023-11", "registry/decisions/2023-11"))
_HARMFUL = frozenset({"filter", "working-tree-encoding", "ident", "eol"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
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


def diagnose(root: Path) -> list[Finding]:
    """Look at everything in and around the registry at a root."""
    machine = [_fts5(), *_model(root), *_judge(root)]
    return [*_git(root), *_settings(root), *_cache(root), *machine, *_files(root), _disk(root)]


def _bad(problem: Problem) -> Finding:
    place = ":".join(str(part) for part in (problem.path, problem.line) if part)
    message = ": ".join(part for part in (place, problem.field, problem.message) if part)
    return Finding(subject=problem.code, good=False, message=message, advice=problem.fix, path=problem.path)


def _git(root: Path) -> Iterator[Finding]:
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
        yield Finding(subject="git", good=True, message=message)
    try:
        who = repository.identity("COMMITTER")
    except RepositoryError as e:
        yield Finding(subject="identity", good=False, message=str(e))
    else:
        yield Finding(subject="identity", good=True, message=f"{who.name} <{who.email}>")
    yield from _attributes(repository)
    yield from _merging(repository)
    yield from _hooks(repository)


def _attributes(repository: Repository) -> Iterator[Finding]:
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
        yield Finding(
            subject="attributes-harmful",
            good=False,
            message=f"git attributes change what is stored or merged: {', '.join(harmful)}",
            advice=f"delete those lines in {ATTRIBUTES_FILE} (or in .git/info/attributes)",
            path=ATTRIBUTES_FILE,
        )
    if lacking or [_SAMPLES[0], "text", "unset"] not in rows:
        yield Finding(
            subject="attributes-lost",
            good=False,
            message=f"{ATTRIBUTES_FILE} lacks lines of forgekit: git may change line ends or merge blindly",
            advice="`forgekit init` puts it back",
            path=ATTRIBUTES_FILE,
        )


def _merging(repository: Repository) -> Iterator[Finding]:
    """Find a clone in which git does not know how to merge the registry's files."""
    lack = driver.lack(repository)
    if lack:
        yield Finding(subject="driver-missing", good=False, message=lack, advice="run `forgekit init` here")


def _hooks(repository: Repository) -> Iterator[Finding]:
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
        yield Finding(
            subject="hooks-missing",
            good=False,
            message="the checks of .pre-commit-config.yaml do not run in this clone: a commit is not checked",
            advice="`pre-commit install`",
        )


def _settings(root: Path) -> Iterator[Finding]:
    if not (root / SETTINGS_FILE).exists():
        message = f"{SETTINGS_FILE} is gone: no other command finds the registry"
        advice = f"`git restore {SETTINGS_FILE}`"
        yield Finding(
            subject="settings-missing", good=False, message=message, advice=advice, path=SETTINGS_FILE
        )
        return
    try:
        require_schema(root)
    except FormatError as e:
        older = is_older(root)
        yield Finding(
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
        yield Finding(subject="settings", good=False, message=str(e), advice=advice, path=SETTINGS_FILE)
        return
    yield Finding(subject="settings", good=True, message="forgekit.toml can be read")


def _cache(root: Path) -> Iterator[Finding]:
    try:
        cache = cache_dir(root)
    except RepositoryError:
        return
    place = next(p for p in (cache, *cache.parents) if p.exists())
    if place == cache and not cache.is_dir():
        message = f"{cache} is no folder: nothing can be written"
        advice = f"move {cache} away"
        yield Finding(subject="cache-blocked", good=False, message=message, advice=advice, path=str(cache))
        return
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "make it writable; until then every command reads all files"
        yield Finding(subject="cache", good=False, message=f"{place} cannot be written", advice=advice)
        return
    broken = list(_damaged(cache))
    for path, why in broken:
        yield Finding(
            subject="cache-damaged",
            good=False,
            message=f"{path} is damaged ({why}): answers stay right, and are slower once",
            advice="the next command that needs it makes it anew; `forgekit index build --force` does so now",
            path=str(path),
        )
    if not broken:
        size = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file())
        message = f"{cache}, {size / 1e6:.1f} MB; it can be deleted at any time"
        yield Finding(subject="cache", good=True, message=message)


def _damaged(cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of the cache that cannot be what was written, and why."""
    from forgekit.vectors.index import sound  # noqa: PLC0415 - importing NumPy takes 50 ms

    for path in sorted({*cache.glob("catalogue-*.sqlite"), *cache.glob("vectors.sqlite")}):
        if why := fault(path):
            yield path, why
    for path in sorted(cache.glob("vectors-*.json")):
        if not sound(path):
            yield path, "its files are not as it says"


def _fts5() -> Finding:
    version, found = engine()
    if not found:
        advice = "use a Python whose sqlite3 has FTS5"
        return Finding(subject="search", good=False, message=f"SQLite {version} has no FTS5", advice=advice)
    return Finding(subject="search", good=True, message=f"SQLite {version} with FTS5")


def _model(root: Path) -> Iterator[Finding]:
    try:
        forge = Forge.open(root)
        vectors = forge.vectors
        if isinstance(forge.encoder, Missing):
            # Without a model a search is by words; one that somebody asked for must be there.
            good, missing = forge.settings.model is None, forge.encoder
            yield Finding(subject="model", good=good, message=missing.reason, advice=missing.hint)
            return
    except ForgeError:
        return  # said of git or of the settings
    if vectors is not None:
        try:
            forge.encoder.encode_queries([""])
        except (ForgeError, OSError) as e:
            yield Finding(subject="model", good=False, message=str(e), advice="fetch it again")
            return
        state = vectors.status()
        size = f"{state.count:,} vectors ({state.kind}), {state.size / 1e6:.1f} MB"
        yield Finding(subject="model", good=True, message=f"{state.model}, {size}")


def _judge(root: Path) -> Iterator[Finding]:
    try:
        found = judge_in_force(load_settings(root), cache_dir(root))
    except ForgeError:
        return  # said of the settings
    if found.why:
        message = f"the rules judge in place of the trained judge: {found.why}"
        yield Finding(subject="judge", good=not found.damaged, message=message, advice=found.advice)
        return
    message = found.kind.value
    if found.promise:
        threshold, precision = found.promise
        message += f", from {threshold:.2f} on, with an expected precision of {precision:.2f}"
    yield Finding(subject="judge", good=True, message=message)


def _files(root: Path) -> Iterator[Finding]:
    try:
        forge = Forge.open(root)
        problems = list(damage.look(forge))
        late = damage.future(forge)
    except (ForgeError, KeyError) as e:  # KeyError: an object that git lost
        advice = "mend what is said above first"
        yield Finding(subject="files", good=False, message=f"cannot be looked at: {e}", advice=advice)
        return
    problems += [late] if late else []
    yield from map(_bad, problems)
    if not problems:
        yield Finding(subject="files", good=True, message="every file can be read and is where it belongs")


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    message = f"{free / 1e6:,.0f} MB are free at {root}"
    if free >= SPARE_BYTES:
        return Finding(subject="disk", good=True, message=message)
    advice = "make room: a write that does not fit is refused"
    return Finding(subject="disk-full", good=False, message=message, advice=advice)


def bad(findings: Iterable[Finding]) -> list[Finding]:
    """Return what is not as it should be."""
    return [finding for finding in findings if not finding.good]
