"""Damage of git's own files (branches, index, locks, objects), and what git knows of the registry's files.

Each finding is a `Problem` whose path is relative to the work tree's top, and whose message explains the
damage. Lost branches and objects are not rebuilt here: the remedy is a fresh clone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from forgekit.errors import RepositoryError
from forgekit.git.commits import index_fault
from forgekit.git.publish import Places, is_dead, read_journal
from forgekit.git.repository import Repository, present
from forgekit.model.problem import Problem, Severity
from forgekit.text.secrets import redact
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, git_dirs, require_no_pipes, work_tree

BACKUPS = "forgekit-backups"
"""The folder in git's own where `doctor --repair` saves copies."""

_LOST = re.compile(r"^missing (?:blob|tree|commit|tag) ([0-9a-f]{40})$", re.MULTILINE)
_BAD_PACK = re.compile(r"objects/pack/(pack-[0-9a-f]{40})\.(?:pack|idx)")
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38})\b")
_URL = re.compile(r'^\[remote "[^"\n]+"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_SAMPLES = tuple(f"{top}/sample.md" for top in ("archives/2023-11", "registry/decisions/2023-11"))
_HARMFUL = frozenset({"filter", "working-tree-encoding", "ident", "eol"})
_NAMED = 3  # of many lost objects


def look(root: Path) -> list[Problem]:
    """Return what is wrong with the git folders of a registry, the gravest first.

    What hides the rest comes alone: a HEAD or a branch that cannot be read, an index, lost objects.
    """
    try:
        repository = Repository(root)
        if broken := list(_branches(repository)):
            return broken
        tip = repository.tip()
    except RepositoryError as e:
        code = "ownership" if "belongs to somebody else" in str(e) else "git"
        return [_damage(code, "", str(e), fresh_clone(root))]
    if tip is not None and repository.attempt("cat-file", "-e", f"{tip}^{{tree}}").returncode:
        ref = repository.head().ref
        what = f"names {tip[:12]}, whose objects are missing"
        return [p for p in objects(repository) if p.code == "corrupt-pack"] or [_branch(root, ref, what)]
    problems = [*_state(repository), *_locks(repository), *journals(repository), *_clone(repository)]
    return problems + (list(_index(repository)) or list(objects(repository)) or list(_entries(repository)))


def _damage(code: str, path: str, message: str, fix: str, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(code=code, path=path, message=message, fix=fix, severity=severity)


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


def _branches(repository: Repository) -> Iterator[Problem]:
    """Find branches that name no commit, and the current one when its log knows commits and it does not."""
    root, common = repository.root, repository.common_dir
    listed = repository.run("for-each-ref", "--format=%(refname)", "refs/heads")
    sound = set(listed.decode("utf-8", "surrogateescape").splitlines())
    for path in sorted((common / "refs" / "heads").rglob("*")):
        ref = path.relative_to(common).as_posix()
        if path.is_file() and path.suffix != ".lock" and ref not in sound:
            yield _branch(root, ref, "names no commit")
    head = (_text(repository.git_dir / "HEAD") or "").strip().removeprefix("ref: ")
    logged = head.startswith("refs/") and _text(common / "logs" / head)
    if logged and head not in sound and not (common / head).exists():
        yield _branch(root, head, "is gone, though its log knows commits")


def _branch(root: Path, ref: str, what: str) -> Problem:
    return _damage(
        "broken-branch",
        _shown(root, git_dirs(root)[1] / ref),
        f"{what}: its history cannot be reached from here",
        f"`git reflog` shows commits that it may have named; else {fresh_clone(root)}",
    )


def _state(repository: Repository) -> Iterator[Problem]:
    if repository.unfinished():
        yield unfinished(repository)
    elif repository.head().ref == "HEAD":
        yield _damage(
            "detached-head",
            "",
            "the work tree is on no branch: nothing can be written here",
            "`git switch BRANCH`, or `git switch --create NAME` to start a branch here",
        )


def unfinished(repository: Repository) -> Problem:
    """Return the finding for a merge, rebase or the like that was begun and not ended."""
    command = repository.unfinished()
    ways = ("reset",) if command == "bisect" else ("--continue", "--abort")
    return _damage(
        "unfinished-merge",
        "",
        f"a {command} was begun and not ended: files may be half merged, and nothing can be written",
        " or ".join(f"`git {command} {way}`" for way in ways),
    )


def _locks(repository: Repository) -> Iterator[Problem]:
    """Find lock files that a dead process left."""
    places = Places.of(repository)
    own, common = repository.git_dir, repository.common_dir
    for path in sorted({*own.glob("*.lock"), *common.glob("*.lock"), *(common / "refs").rglob("*.lock")}):
        with contextlib.suppress(FileNotFoundError):
            if is_dead(path, repository.top) and not (path == places.lock and places.owned()):
                age = time.time() - path.stat().st_mtime
                yield _damage(
                    "stale-lock",
                    _shown(repository.root, path),
                    f"was left {age:,.0f} seconds ago by a process that is gone: it blocks writes",
                    f"if no other program uses the repository, delete {path}",
                )


def journals(repository: Repository) -> Iterator[Problem]:
    """Find a write that was killed, and what it left beside the files."""
    if _writer_at_work(repository):
        return
    journal = Places.of(repository).journal
    try:
        read_journal(journal)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (KeyError, TypeError, ValueError):
        yield _damage(
            "broken-journal",
            _shown(repository.root, journal),
            "is damaged: what a killed write left cannot be undone, and no write can begin",
            f"look at `git status`, then delete {journal}",
        )
    else:
        yield _damage(
            "half-done",
            _shown(repository.root, journal),
            "a write was killed before its end: the next write undoes or finishes it",
            "any command that writes does so by itself",
        )
    root = repository.root
    found = [root.glob(f"{files.TEMPORARY}*"), *((root / top).rglob(f"{files.TEMPORARY}*") for top in TOPS)]
    for path in sorted(
        path.relative_to(root).as_posix() for some in found for path in some if path.is_file()
    ):
        yield _damage("leftover-file", path, "leftover of an interrupted write; safe to delete", "delete it")


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
    fault = index_fault(repository)
    if fault or repository.attempt("ls-files", "--stage").returncode:
        yield _damage(
            "broken-index",
            _shown(repository.root, repository.git_dir / "index"),
            f"{fault or 'cannot be read'}: git knows neither what is staged nor what has changed",
            "`git reset` rebuilds it from the last commit; the next write does so by itself",
        )


def _entries(repository: Repository) -> Iterator[Problem]:
    """Find entries of the index that would take a commit back."""
    tip = repository.tip()
    if tip is None:
        return
    committed = repository.blobs(tip)
    # What a merge left with two sides is a person's.
    options = ("--cached", "--name-only", "--no-renames", "--diff-filter=u", "--relative", "-z")
    for name in _names(repository, "diff-index", *options, tip, "--", *TOPS):
        if present(repository.root, name) == committed.get(name):
            yield _damage(
                "index-differs",
                name,
                "is as committed, but the index holds something else: the next commit would undo it",
                "`git reset -- PATH` sets the index right",
            )


def objects(repository: Repository) -> Iterator[Problem]:
    """Find packs and objects that are missing, or whose bytes are not those of their name."""
    done = repository.attempt("fsck", "--full", "--no-dangling", "--no-progress")
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    if not done.returncode and not _LOST.search(output):
        return
    fix = fresh_clone(repository.root)
    packs = sorted(set(_BAD_PACK.findall(output)))
    for pack in packs:
        yield _damage(
            "corrupt-pack", f".git/objects/pack/{pack}.pack", "is damaged: objects in it cannot be read", fix
        )
    if packs:
        return
    names = sorted({*_LOST.findall(output), *map("".join, _LOOSE.findall(output))})
    damaged = [name for name in names if (repository.common_dir / "objects" / name[:2] / name[2:]).exists()]
    missing = [name for name in names if name not in damaged]
    for code, found in (("missing-object", missing), ("corrupt-object", damaged)):
        if found:
            what = f"objects are {code.partition('-')[0]}"
            shown = ", ".join(name[:12] for name in found[:_NAMED])
            yield _damage(
                code, "", f"git's {what} ({shown}): the commits that hold them cannot be read in full", fix
            )
    # What only a log names may be gone: that is what a log is for.
    other = [line for line in output.splitlines() if "reflog" not in line]
    if done.returncode and other and not names:
        yield Problem(code="git", path="", message=f"git fsck fails: {other[0]}", fix=fix)


def _clone(repository: Repository) -> Iterator[Problem]:
    if (repository.common_dir / "shallow").exists():
        yield _damage(
            "shallow-clone",
            _shown(repository.root, repository.common_dir / "shallow"),
            "the clone holds the last commits only: history ends early, and repair finds less",
            "`git fetch --unshallow`",
        )
    partial = ("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$")
    if repository.attempt(*partial).stdout:
        yield _damage(
            "partial-clone",
            "",
            "the clone leaves objects with its remote: old versions cannot be read without it",
            "make a full clone: `git clone URL`",
        )
    synced = repository.attempt("config", "core.fsync").stdout.decode("utf-8", "replace").strip()
    if "none" in synced.split(","):
        yield _damage(
            "fsync-off",
            "",
            "git does not wait for the disk (core.fsync): a power cut may take the last commits",
            "`git config --unset core.fsync`, with --global where it was set so",
        )


def registry_problems(repository: Repository) -> Iterator[Problem]:
    """Find what git knows of the registry's files and the files themselves do not show."""
    if repository.unfinished():
        yield unfinished(repository)
    if index_fault(repository):
        yield from _index(repository)
        return
    found = [(Path(w[0]), [*w[1], *w[2]]) for top in TOPS for w in os.walk(repository.root / top)]
    require_no_pipes(folder for folder, _ in found)
    yield from _deleted(repository)
    yield from _harmful_attributes(repository)
    rows = (row.partition("\t") for row in _names(repository, "ls-files", "--stage", "-z", "--", *TOPS))
    tracked = {path: int(mode.split(" ")[0], 8) for mode, _, path in rows}
    for path, mode in tracked.items():
        if stat.S_IFMT(mode) == 0o160000:
            yield _damage(
                "gitlink",
                path,
                "is a submodule, whose files no clone of this registry has",
                f"`git rm --cached {path}`, and commit that",
            )
    for folder, names in found:
        for name in (n for n in names if n[0] == "." and not n.startswith((".git", files.TEMPORARY))):
            path = (folder / name).relative_to(repository.root).as_posix()
            yield _damage(
                "dot-file",
                path,
                "begins with a dot: no command reads it",
                "move it elsewhere or delete it",
                severity=Severity.ERROR if path in tracked else Severity.WARNING,
            )


def _deleted(repository: Repository) -> Iterator[Problem]:
    """Find files that the index holds and the work tree lacks."""
    for path in sorted(set(_names(repository, "ls-files", "--deleted", "-z", "--", *TOPS))):
        yield _damage(
            "deleted-file",
            path,
            "is committed, and missing from the work tree",
            f"`git restore {path}` brings it back; `git rm {path}` deletes it for good",
        )


def _harmful_attributes(repository: Repository) -> Iterator[Problem]:
    """Find attributes by which git would change bytes on their way in or out, or merge them line by line."""
    rows = _attributes(repository)
    harmful = sorted({f"{n}={v}" for _, n, v in rows if n in _HARMFUL or (n == "merge" and v == "union")})
    if harmful:
        yield _damage(
            "attributes-harmful",
            ".gitattributes",
            f"git attributes change what is stored or merged: {', '.join(harmful)}",
            "delete those lines in .gitattributes (or in .git/info/attributes)",
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


def _shown(root: Path, path: Path) -> str:
    top = work_tree(root)
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else str(path)
