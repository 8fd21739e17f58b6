"""Damage of git's own files (branches, index, locks, objects), and what git knows of the registry's files.

Each finding is a `Problem` whose path is relative to the work tree's top, and whose message explains the
damage. Lost branches and objects are not rebuilt here: the remedy is a fresh clone.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from forgekit.errors import RepositoryError, StoreError
from forgekit.git import driver
from forgekit.git.commits import index_fault
from forgekit.git.publish import Places, is_dead, read_journal
from forgekit.git.repository import Repository, present
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem, Severity
from forgekit.text.secrets import redact
from forgekit.worktree import files
from forgekit.worktree.roots import SETTINGS_FILE, TOPS, git_dirs, require_no_pipes, work_tree

BACKUPS = "forgekit-backups"
"""The folder in git's own where `doctor --repair` saves copies."""

TEXTS = {
    "unfinished-merge": (
        "a merge, rebase or bisect is under way: files may be half merged, and nothing can be written",
        "`git status` says how to end or undo it",
    ),
    "detached-head": (
        "the work tree is on no branch: nothing can be written here",
        "`git switch BRANCH`, or `git switch --create NAME` to start a branch here",
    ),
    "stale-lock": (
        "was left by a process that is gone: it blocks writes",
        "if no other program uses the repository, delete PATH",
    ),
    "broken-journal": (
        "is damaged: what a killed write left cannot be undone, and no write can begin",
        "look at `git status`, then delete PATH",
    ),
    "half-done": (
        "a write was killed before its end: the next write undoes or finishes it",
        "any command that writes does so by itself",
    ),
    "leftover-file": ("leftover of an interrupted write; safe to delete", "delete it"),
    "broken-index": (
        "is missing or cannot be read: git knows neither what is staged nor what has changed",
        "`git reset` rebuilds it from the last commit; the next write does so by itself",
    ),
    "index-differs": (
        "is as committed, but the index holds something else: the next commit would undo it",
        "`git reset -- PATH` sets the index right",
    ),
    "shallow-clone": (
        "the clone holds the last commits only: history ends early, and repair finds less",
        "`git fetch --unshallow`",
    ),
    "partial-clone": (
        "the clone leaves objects with its remote: old versions cannot be read without it",
        "make a full clone: `git clone URL`",
    ),
    "fsync-off": (
        "git does not wait for the disk (core.fsync): a power cut may take the last commits",
        "`git config --unset core.fsync`, with --global where it was set so",
    ),
    "gitlink": (
        "is a submodule, whose files no clone of this registry has",
        "`git rm --cached PATH`, and commit that",
    ),
    "dot-file": ("begins with a dot: no command reads it", "move it elsewhere or delete it"),
    "deleted-file": (
        "is committed, and missing from the work tree",
        "`git restore PATH` brings it back; `git rm PATH` deletes it for good",
    ),
    "attributes-lost": (
        "lacks lines of forgekit: in a clone git may change line ends or merge by lines",
        "`forgekit init` puts them back",
    ),
    "archive-deleted": (
        "a commit deletes it, and archives are write-once; only `git revert` of what filed it takes one back",
        "`forgekit doctor --repair --yes` brings it back",
    ),
}
"""Code -> what it is, and what to do with it."""

_URL = re.compile(r'^\[remote "[^"\n]+"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_SAMPLES = tuple(f"{top}/sample.md" for top in ("archives/2023-11", "registry/decisions/2023-11"))
_BESIDE = (SETTINGS_FILE, ".gitattributes")
"""Files of a registry beside its folders."""
_HARMFUL = frozenset({"filter", "working-tree-encoding", "ident", "eol"})


def git_problems(root: Path) -> list[Problem]:
    """Return what is wrong with the git folders of a registry, the gravest first.

    What hides the rest comes alone: a HEAD or a branch that cannot be read, an index, lost objects.
    """
    try:
        repository = Repository(root)
        repository.run("for-each-ref", "--count=1", "--format=%(refname)")
        if branch := list(_branch(repository)):
            return branch
        problems = [*_state(repository), *_locks(repository), *journals(repository), *_clone(repository)]
        return problems + (
            list(_index(repository)) or list(_objects(repository)) or list(_entries(repository))
        )
    except RepositoryError as e:
        code = "ownership" if "belongs to somebody else" in str(e) else "git"
        return [Problem(code=code, path="", message=str(e), fix=fresh_clone(root))]


def _damage(code: str, path: str = "", severity: Severity = Severity.ERROR) -> Problem:
    message, fix = TEXTS[code]
    advice = fix.replace("PATH", path or "PATH")
    return Problem(code=code, path=path, message=message, fix=advice, severity=severity)


def fresh_clone(root: Path) -> str:
    """Say where a sound copy of the history may be had, and how to go on with it."""
    folder = git_folder(root)
    url = _URL.search(_text(folder / "config") or "")
    bundles = sorted(folder.glob(f"{BACKUPS}/*/history.bundle"), key=lambda path: path.stat().st_mtime)
    if not url and not bundles:
        return "restore .git from your own backup, or `forgekit init` a new folder and copy the files there"
    source = redact(url[1]).text if url else str(bundles[-1])
    return f"make a fresh clone (`git clone {source} NEW`) and copy your uncommitted files there"


def git_folder(root: Path) -> Path:
    """Return the work tree's git folder, also where git would not take it for one."""
    try:
        return git_dirs(root)[0]
    except RepositoryError:
        return work_tree(root) / ".git"


def _branch(repository: Repository) -> Iterator[Problem]:
    """Find a branch whose commit is lost, or that is gone though its log knows commits."""
    head = repository.head()
    if head.commit is None and _text(repository.common_dir / "logs" / head.ref):
        what = "is gone, though its log knows commits"
    elif head.commit and repository.attempt("cat-file", "-e", f"{head.commit}^{{tree}}").returncode:
        what = f"names {head.commit[:12]}, whose objects are missing"
    else:
        return
    yield Problem(
        code="broken-branch",
        path=_shown(repository, repository.common_dir / head.ref),
        message=f"{what}: its history cannot be reached from here",
        fix=f"`git reflog` shows commits that it may have named; else {fresh_clone(repository.root)}",
    )


def _state(repository: Repository) -> Iterator[Problem]:
    if repository.unfinished():
        yield _damage("unfinished-merge")
    elif repository.head().ref == "HEAD":
        yield _damage("detached-head")


def _locks(repository: Repository) -> Iterator[Problem]:
    """Find lock files that a dead process left."""
    places = Places.of(repository)
    own, common = repository.git_dir, repository.common_dir
    for path in sorted({*own.glob("*.lock"), *common.glob("*.lock"), *(common / "refs").rglob("*.lock")}):
        if is_dead(path, repository.top) and not (path == places.lock and places.owned()):
            yield _damage("stale-lock", _shown(repository, path))


def journals(repository: Repository) -> Iterator[Problem]:
    """Find a write that was killed, and what it left beside the files."""
    if _writer_at_work(repository):
        return
    journal, root = Places.of(repository).journal, repository.root
    try:
        read_journal(journal)
        yield _damage("half-done", _shown(repository, journal))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (KeyError, TypeError, ValueError):
        yield _damage("broken-journal", _shown(repository, journal))
    found = [root.glob(f"{files.TEMPORARY}*"), *((root / top).rglob(f"{files.TEMPORARY}*") for top in TOPS)]
    for path in sorted(path for some in found for path in some if path.is_file()):
        yield _damage("leftover-file", path.relative_to(root).as_posix())


def _writer_at_work(repository: Repository) -> bool:
    """Say whether a process holds the writers' lock; a dead one holds none."""
    try:
        with (repository.common_dir / "forgekit" / "write.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no file, no writer
        return False
    return False


def _index(repository: Repository) -> Iterator[Problem]:
    """Find an index that is missing or cannot be read."""
    if index_fault(repository) or repository.attempt("ls-files", "--stage").returncode:
        yield _damage("broken-index", _shown(repository, repository.git_dir / "index"))


def _entries(repository: Repository) -> Iterator[Problem]:
    """Find entries of the index that would take a commit back."""
    if (tip := repository.tip()) is None:
        return
    committed: dict[str, str | None] = {**repository.blobs(tip)}
    with suppress(StoreError):  # no regular file
        committed |= {name: repository.blob_id(tip, name) for name in _BESIDE}
    # What a merge left with two sides is a person's.
    options = ("--cached", "--name-only", "--no-renames", "--diff-filter=u", "--relative", "-z")
    for name in _names(repository, "diff-index", *options, tip, "--", *TOPS, *_BESIDE):
        if present(repository.root, name) == committed.get(name):
            yield _damage("index-differs", name)


def _objects(repository: Repository) -> Iterator[Problem]:
    """Find objects and branches that are missing or damaged."""
    done = repository.attempt("fsck", "--full", "--no-dangling", "--no-progress")
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    # What only a log names may be gone: that is what a log is for.
    lines = [line for line in output.splitlines() if "reflog" not in line]
    lost = [line for line in lines if line.startswith("missing ")]
    if lost or (done.returncode and lines):
        message = f"git fsck finds {(lost or lines)[0]!r}: the commits that need it cannot be read in full"
        yield Problem(code="lost-objects", path="", message=message, fix=fresh_clone(repository.root))


def _clone(repository: Repository) -> Iterator[Problem]:
    if (repository.common_dir / "shallow").exists():
        yield _damage("shallow-clone", _shown(repository, repository.common_dir / "shallow"))
    partial = ("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$")
    if repository.attempt(*partial).stdout:
        yield _damage("partial-clone")
    synced = repository.attempt("config", "core.fsync").stdout.decode("utf-8", "replace").strip()
    if "none" in synced.split(","):
        yield _damage("fsync-off")


def registry_problems(repository: Repository) -> Iterator[Problem]:
    """Find what git knows of the registry's files and the files themselves do not show."""
    if repository.unfinished():
        yield _damage("unfinished-merge")
    if index_fault(repository):
        yield from _index(repository)
        return
    found = [(Path(w[0]), [*w[1], *w[2]]) for top in TOPS for w in os.walk(repository.root / top)]
    require_no_pipes(folder for folder, _ in found)
    for path in sorted(set(_names(repository, "ls-files", "--deleted", "-z", "--", *TOPS))):
        problem = _damage("deleted-file", path)
        yield replace(problem, fix=problem.fix.partition(";")[0]) if _is_archive(path) else problem
    yield from _deleted_archives(repository, {name for _, names in found for name in names})
    yield from _harmful_attributes(repository)
    attributes = (_text(repository.root / ".gitattributes") or "").splitlines()
    # A registry that never had them is no damage; `doctor` names it.
    if not {*driver.RULES} <= {*attributes} and _names(
        repository, "log", "-1", "--format=%H", "--", ".gitattributes"
    ):
        yield _damage("attributes-lost", ".gitattributes", Severity.WARNING)
    rows = (row.partition("\t") for row in _names(repository, "ls-files", "--stage", "-z", "--", *TOPS))
    tracked = {path: mode.split(" ")[0] for mode, _, path in rows}
    yield from (_damage("gitlink", path) for path, mode in tracked.items() if mode == "160000")
    for folder, names in found:
        for name in (n for n in names if n[0] == "." and not n.startswith((".git", files.TEMPORARY))):
            path = (folder / name).relative_to(repository.root).as_posix()
            yield _damage("dot-file", path, Severity.ERROR if path in tracked else Severity.WARNING)


def _deleted_archives(repository: Repository, there: Collection[str]) -> Iterator[Problem]:
    """Find archives that the history holds and the registry does not, unless their filing was undone.

    Args:
        there: the names of the files in the work tree.
    """
    if repository.tip() is None:
        return
    options = ("--diff-filter=D", "--no-renames", "--full-history", "-m", "--relative", "--name-only", "-z")
    gone: dict[str, bool] = {}
    undone = False
    for part in _names(repository, "log", "--format=%x01%B", *options, "HEAD", "--", TOPS[0]):
        if part.lstrip("\n").startswith("\1"):
            undone = "\nThis reverts commit " in part
        else:
            gone.setdefault(part.lstrip("\n"), undone)  # the newest comes first
    tracked = set(_names(repository, "ls-files", "-z", "--", TOPS[0]))
    for path in sorted(path for path, undone in gone.items() if not undone):
        if _is_archive(path) and path not in tracked and Path(path).name not in there:
            yield _damage("archive-deleted", path)


def _is_archive(path: str) -> bool:
    owner = files.entity_of_path(path)
    return owner is not None and owner[0] is Kind.ARCHIVE


def _harmful_attributes(repository: Repository) -> Iterator[Problem]:
    """Find attributes by which git would change bytes on their way in or out, or merge them line by line."""
    rows = _attributes(repository)
    harmful = sorted({f"{n}={v}" for _, n, v in rows if n in _HARMFUL or (n == "merge" and v == "union")})
    if harmful:
        yield Problem(
            code="attributes-harmful",
            path=".gitattributes",
            message=f"git attributes change what is stored or merged: {', '.join(harmful)}",
            fix="delete those lines in .gitattributes (or in .git/info/attributes)",
        )


def _attributes(repository: Repository) -> list[list[str]]:
    """Return path, name and value of the attributes that git gives to files of the registry."""
    output = repository.attempt("check-attr", "--all", "--", *_SAMPLES).stdout.decode("utf-8", "replace")
    return [line.split(": ") for line in output.splitlines() if line.count(": ") == 2]


def keeps_bytes(repository: Repository) -> bool:
    """Say whether git's attributes leave the bytes of archives alone."""
    return [_SAMPLES[0], "text", "unset"] in _attributes(repository)


def _names(repository: Repository, *arguments: str) -> list[str]:
    listed = repository.attempt(*arguments).stdout.decode("utf-8", "surrogateescape")
    return [name for name in listed.split("\0") if name]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _shown(repository: Repository, path: Path) -> str:
    top = repository.top
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else str(path)
