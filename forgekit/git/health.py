"""What can be wrong with git's own files: branches, index, locks, objects.

Each finding is a `Problem` whose path is relative to the work tree's top and whose message says what the
damage means. What git and libgit2 refuse to open is read as the files that gitrepository-layout(5) lists.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import time
from collections.abc import Iterator
from pathlib import Path

from forgekit.errors import RepositoryError
from forgekit.git.publish import read_journal, running_git
from forgekit.git.repository import Repository, present
from forgekit.model.problem import Problem
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, git_dirs, work_tree, worktree_key

LOCK_SECONDS = 60
"""A lock younger than this may belong to somebody who is at work."""

_BRANCH = re.compile(r"ref: (refs/heads/\S{1,200})\n?")
_HEX = re.compile(r"[0-9a-f]{40}\n?")
_PACKED = re.compile(r"#.*|\^[0-9a-f]{40}|[0-9a-f]{40} refs/\S+")
_LOST = re.compile(r"^missing (blob|tree|commit|tag) ([0-9a-f]{40})$", re.MULTILINE)
_BAD_PACK = re.compile(r"objects/pack/(pack-[0-9a-f]{40})\.(?:pack|idx)")
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38})\b")
_ASK_GIT = "mend what git names, or take what can be read into a new clone"
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def look(root: Path) -> list[Problem]:
    """Return what is wrong with the git folders of a registry, the gravest first.

    What hides the rest comes alone: a HEAD or a branch that cannot be read; an index, lost objects.
    """
    problem = head(root) or packed_refs(root)
    if problem:
        return [problem]
    try:
        repository = Repository(root)
        repository.tip()
        refs = list(branches(repository))
    except RepositoryError as e:
        code = "ownership" if "belongs to somebody else" in str(e) else "git"
        return list(_loose_branches(root)) or [Problem(code=code, path="", message=str(e), fix=_ASK_GIT)]
    if refs:
        return refs
    found = [*_state(repository), *locks(repository), *journals(repository), *_clone(repository)]
    return found + (list(index(repository)) or list(objects(repository)) or list(entries(repository)))


def head(root: Path) -> Problem | None:
    """Find a HEAD that names neither a branch nor a commit."""
    folder = git_folder(root)
    text = _text(folder / "HEAD")
    if text is not None and (_BRANCH.fullmatch(text) or _HEX.fullmatch(text)):
        return None
    what = "is missing" if text is None else "names neither a branch nor a commit"
    return Problem(
        code="broken-head",
        path=_shown(root, folder / "HEAD"),
        message=f"{what}: git takes this for no repository, so nothing can be read or written",
        fix="`git symbolic-ref HEAD refs/heads/BRANCH` names the branch that you work on",
    )


def git_folder(root: Path) -> Path:
    """Return the work tree's git folder, also where git would not take it for one."""
    try:
        return git_dirs(root)[0]
    except RepositoryError:
        return work_tree(root) / ".git"


def packed_refs(root: Path) -> Problem | None:
    """Find lines that are no refs."""
    path = git_dirs(root)[1] / "packed-refs"
    text = _text(path)
    bad = [n for n, line in enumerate((text or "").splitlines(), 1) if not _PACKED.fullmatch(line)]
    if text is None or not (bad or (text and not text.endswith("\n"))):
        return None
    return Problem(
        code="broken-packed-refs",
        path=_shown(root, path),
        line=bad[0] if bad else None,
        message="holds a line that names no ref: git reads no branch at all",
        fix="delete the lines that are no refs",
    )


def good_refs(text: str) -> str:
    """Return the lines of packed refs that are refs."""
    return "".join(f"{line}\n" for line in text.splitlines() if _PACKED.fullmatch(line))


def branches(repository: Repository) -> Iterator[Problem]:
    """Find branches that name no commit, and the current one when its log knows commits and it does not."""
    yield from _loose_branches(repository.root)
    current = repository.head()
    if current.commit is None:
        if logged(repository, current.ref):
            yield _branch(repository.root, current.ref, "is gone, though its log knows commits")
    elif repository.attempt("cat-file", "-e", f"{current.commit}^{{tree}}").returncode:
        yield _branch(repository.root, current.ref, f"names {current.commit[:12]}, whose objects are missing")


def _loose_branches(root: Path) -> Iterator[Problem]:
    try:
        common = git_dirs(root)[1]
    except RepositoryError:
        return
    for path in sorted((common / "refs" / "heads").rglob("*")):
        if path.is_file() and path.suffix != ".lock" and not _names_commit(common, _text(path) or ""):
            name = path.relative_to(common).as_posix()
            yield _branch(root, name, "holds no commit's name")


def _names_commit(common: Path, text: str, depth: int = 5) -> bool:
    """Say whether a branch's text is a commit's name, or leads to one; git follows five symbolic refs."""
    link = _BRANCH.fullmatch(text) if depth else None
    if not link:
        return bool(_HEX.fullmatch(text))
    target = common / link[1]
    if target.is_file():
        return _names_commit(common, _text(target) or "", depth - 1)
    packed = (_text(common / "packed-refs") or "").splitlines()
    return any(line.endswith(f" {link[1]}") for line in packed)


def _branch(root: Path, ref: str, what: str) -> Problem:
    common = git_dirs(root)[1]
    return Problem(
        code="broken-branch",
        path=_shown(root, common / ref),
        message=f"{what}: its history cannot be reached from here",
        fix="`git reflog` and `git fsck --lost-found` show commits that it may have named",
    )


def logged(repository: Repository, ref: str) -> list[str]:
    """Return the commits that a ref's log knows, the latest first."""
    text = _text((repository.git_dir if ref == "HEAD" else repository.common_dir) / "logs" / ref) or ""
    found = [line.split(" ", 2)[1] for line in text.splitlines() if line.count(" ") > 1]
    return [commit for commit in reversed(found) if _HEX.fullmatch(commit) and commit.strip("0")]


def _state(repository: Repository) -> Iterator[Problem]:
    if repository.head().ref == "HEAD":
        yield Problem(
            code="detached-head",
            path="",
            message="the work tree is on no branch: what is written here may be left behind",
            fix="`git switch BRANCH`, or `git switch --create NAME` to keep commits made here",
        )
    for name, what in _UNFINISHED.items():
        if (repository.git_dir / name).exists():
            yield Problem(
                code="unfinished-merge",
                path=_shown(repository.root, repository.git_dir / name),
                message=f"a {what} was begun and not ended: files may be half merged",
                fix=f"`git {what} --continue` or `git {what} --abort`",
            )


def locks(repository: Repository) -> Iterator[Problem]:
    """Find locks whose holder is dead: old, and no git process is at work here."""
    journal = _journal(repository)
    for path in _lock_files(repository):
        with contextlib.suppress(FileNotFoundError):
            ours = journal.exists() and journal.samefile(path)
            age = time.time() - path.stat().st_mtime
            if not ours and age >= LOCK_SECONDS and not running_git(repository):
                yield Problem(
                    code="stale-lock",
                    path=_shown(repository.root, path),
                    message=f"was left {int(age):,} seconds ago by a process that is gone: nobody can write",
                    fix=f"if no git command is running, delete {path}",
                )


def _lock_files(repository: Repository) -> list[Path]:
    own, common = repository.git_dir, repository.common_dir
    found = {*own.glob("*.lock"), *common.glob("*.lock"), *(common / "refs").rglob("*.lock")}
    return sorted(found)


def _journal(repository: Repository) -> Path:
    return repository.common_dir / "forgekit" / f"journal-{worktree_key(repository.root)}.json"


def journals(repository: Repository) -> Iterator[Problem]:
    """Find a write that was killed, and what it left beside the files."""
    if writer_at_work(repository):
        return
    journal = _journal(repository)
    if journal.exists():
        try:
            read_journal(journal)
        except (KeyError, TypeError, ValueError):
            yield Problem(
                code="broken-journal",
                path=_shown(repository.root, journal),
                message="is damaged: what a killed write left cannot be undone, and no write can begin",
                fix=f"look at `git status`, then delete {journal}",
            )
        else:
            yield Problem(
                code="half-done",
                path=_shown(repository.root, journal),
                message="a write was killed before its end: the next write undoes or finishes it",
                fix="any command that writes does so by itself",
            )
    for path in leftovers(repository.root):
        yield Problem(
            code="leftover-file",
            path=path,
            message="is what a killed write left: it means nothing",
            fix="delete it",
        )


def leftovers(root: Path) -> list[str]:
    """Return the paths of temporary files at the root and below the registry's two folders."""
    found = [root.glob(f"{files.TEMPORARY}*"), *((root / top).rglob(f"{files.TEMPORARY}*") for top in TOPS)]
    return sorted(path.relative_to(root).as_posix() for some in found for path in some if path.is_file())


def writer_at_work(repository: Repository) -> bool:
    """Say whether a process holds the writers' lock; a dead one holds none."""
    try:
        with (repository.common_dir / "forgekit" / "write.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no file, no writer
        return False
    return False


def index(repository: Repository) -> Iterator[Problem]:
    """Find an index that cannot be read."""
    path = repository.git_dir / "index"
    if repository.attempt("ls-files", "--stage").returncode or (repository.tip() and not path.exists()):
        yield Problem(
            code="broken-index",
            path=_shown(repository.root, path),
            message="cannot be read: git knows neither what is staged nor what has changed",
            fix="`git reset` makes it anew from the last commit",
        )


def entries(repository: Repository) -> Iterator[Problem]:
    """Find entries of the index that would take a commit back."""
    tip = repository.tip()
    if tip is None:
        return
    committed = repository.blobs(tip)
    # What a merge left with two sides is a person's.
    options = ("--cached", "--name-only", "--no-renames", "--diff-filter=u", "--relative", "-z")
    listed = repository.attempt("diff-index", *options, tip, "--", *TOPS)
    for name in listed.stdout.decode("utf-8", "surrogateescape").split("\0"):
        if name and present(repository.root, name) == committed.get(name):
            yield Problem(
                code="index-differs",
                path=name,
                message="is as committed, but the index holds something else: the next commit would undo it",
                fix="`git reset -- PATH` sets the index right",
            )


def objects(repository: Repository) -> Iterator[Problem]:
    """Find objects that are missing or whose bytes are not those of their name."""
    done = repository.attempt("fsck", "--full", "--no-dangling", "--no-progress")
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if not done.returncode and not _LOST.search(said):
        return
    corrupt = {"".join(match.groups()) for match in _LOOSE.finditer(said)}
    lost = {match[2]: match[1] for match in _LOST.finditer(said)}
    for pack in sorted(set(_BAD_PACK.findall(said))):
        yield Problem(
            code="corrupt-pack",
            path=f".git/objects/pack/{pack}.pack",
            message="is damaged: objects in it cannot be read",
            fix="copy the pack from another clone, or `git fetch` into a new one",
        )
    for name in sorted(lost.keys() | corrupt):
        loose = repository.common_dir / "objects" / name[:2] / name[2:]
        kind, there = lost.get(name, "object"), loose.exists()
        yield Problem(
            code="corrupt-object" if there else "missing-object",
            path=_shown(repository.root, loose),
            message=f"{kind} {name[:12]} {'is damaged' if there else 'is missing'}: "
            "the commits that hold it cannot be read in full",
            fix="fetch it from another clone: `git fetch --refetch`, or copy the file below .git/objects",
        )
    # What only a log names may be gone: that is what a log is for.
    other = [line for line in said.splitlines() if "reflog" not in line]
    if done.returncode and other and not (lost or corrupt):
        yield Problem(code="git", path="", message=f"git fsck fails: {other[0]}", fix=_ASK_GIT)


def _clone(repository: Repository) -> Iterator[Problem]:
    if (repository.common_dir / "shallow").exists():
        yield Problem(
            code="shallow-clone",
            path=_shown(repository.root, repository.common_dir / "shallow"),
            message="the clone holds the last commits only: history ends early, and repair finds less",
            fix="`git fetch --unshallow`",
        )
    promised = repository.attempt(
        "config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$"
    )
    if promised.stdout:
        yield Problem(
            code="partial-clone",
            path="",
            message="the clone leaves objects with its remote: old versions cannot be read without it",
            fix="make a full clone: `git clone URL`",
        )
    synced = repository.attempt("config", "core.fsync").stdout.decode("utf-8", "replace").strip()
    if "none" in synced.split(","):
        yield Problem(
            code="fsync-off",
            path="",
            message="git does not wait for the disk (core.fsync): a power cut may take the last commits",
            fix="`git config --unset core.fsync`, with --global where it was set so",
        )


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _shown(root: Path, path: Path) -> str:
    top = work_tree(root)
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else str(path)
