"""git, read by libgit2: revisions, trees, and what is uncommitted; with all that the git program prints.

libgit2 runs no hook, filter or pager of the repository, and owner validation stays on. Paths are relative
to the registry's root and `/`-separated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, FileStatus, RepositoryOpenFlag, RepositoryState

from forgekit.errors import FormatError, NotFoundError, RepositoryError, StoreError, WriteError
from forgekit.frozen import frozen
from forgekit.git.program import Program
from forgekit.times import DAY_MS, parse_instant
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, require_no_pipes

pygit2.settings.enable_fsync_gitdir(True)

# Names of commits, and neither options nor paths nor searches: no leading dash, no colon, no blank.
_REVISION = re.compile(r"(?!-|.*\{/)[\w./@{}~^+-]{1,200}")
_PERSON = re.compile(r"(.+) <([^\x00-\x1f\x7f]+)> \d+ [+-]\d{4}\n")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@frozen(kw_only=True)
class Head:
    """What the work tree is on.

    Attributes:
        ref: the branch's full name, or `HEAD` when it is on no branch.
        commit: its tip, or None on a branch without commits.
    """

    ref: str
    commit: str | None


class Repository(Program):
    """The git repository that a registry lives in.

    Args:
        root: the registry's root: the work tree's top or a folder below it.

    Raises RepositoryError.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.raw = _opened(self.top)
        self._folders: tuple[str | None, dict[str, pygit2.Tree | None]] = None, {}
        self._people: dict[tuple[str, ...], tuple[str, str]] = {}

    def head(self) -> Head:
        """Return the branch and its tip, as they are on disk now.

        Raises RepositoryError when HEAD cannot be read.
        """
        try:
            ref = self.raw.lookup_reference("HEAD")
            if not isinstance(ref.target, str):
                return Head(ref="HEAD", commit=str(ref.target))
            name = ref.target
        except (KeyError, ValueError, pygit2.GitError) as e:
            raise RepositoryError(f"{self.git_dir}/HEAD cannot be read ({e}); run `git status`") from None
        try:
            return Head(ref=name, commit=str(self.raw.lookup_reference(name).resolve().target))
        except KeyError:
            return Head(ref=name, commit=None)
        except pygit2.GitError as e:
            raise RepositoryError(f"{name} cannot be read ({e}); run `forgekit doctor`") from None

    def unfinished(self) -> bool:
        """Say whether a merge, rebase or the like was begun in the work tree and not ended."""
        return bool(self.raw.state() != RepositoryState.NONE)

    def require_writable(self) -> None:
        """Refuse a commit that a merge under way, or the next checkout, would lose.

        Raises RepositoryError.
        """
        if self.unfinished():
            raise RepositoryError(
                f"a merge, rebase or bisect is under way in {self.top}; end it (see `git status`), "
                "then run this again"
            )
        if self.head().ref == "HEAD":
            raise RepositoryError(
                f"{self.top} is on no branch (detached HEAD), and the next checkout would leave a commit "
                "behind; run `git switch BRANCH`, or `git switch --create NAME` to start one here, "
                "then run this again"
            )

    def tip(self) -> str | None:
        """Return the commit at HEAD, or None when there is none yet."""
        return self.head().commit

    def holds(self, commit: str, tip: str | None = None) -> bool:
        """Say whether a commit is another, the branch's tip by default, or one of its ancestors."""
        tip = tip or self.tip()
        if tip is None or commit not in self.raw:
            return False
        return tip == commit or bool(self.raw.descendant_of(tip, commit))

    def resolve(self, name: str) -> str:
        """Return the id of the commit that a revision or a date means.

        Args:
            name: a revision; or a date, meaning the last commit of the first-parent line up to the end
                of that day (UTC); or a date with time, meaning up to that moment.

        Raises NotFoundError.
        """
        if _REVISION.fullmatch(name):
            try:
                return str(self.raw.revparse_single(name).peel(pygit2.Commit).id)
            except (KeyError, ValueError, pygit2.GitError):
                pass
        try:
            moment = parse_instant(name) + (DAY_MS - 1 if _DAY.fullmatch(name.strip()) else 0)
        except ValueError:
            raise NotFoundError("revision or date", name) from None
        tip = self.tip()
        commit = None if tip is None else self.raw[tip].peel(pygit2.Commit)
        while commit is not None and commit.commit_time * 1000 > moment:
            commit = commit.parents[0] if commit.parents else None
        if commit is None:
            raise NotFoundError("revision or date", name, "it lies before the first commit")
        return str(commit.id)

    def tree(self, commit: str | None) -> pygit2.Tree | None:
        """Return the top tree of a commit; raises RepositoryError for one that is lost."""
        try:
            return None if commit is None else self.raw[commit].peel(pygit2.Commit).tree
        except pygit2.GitError as e:
            raise RepositoryError(f"{e}; run `forgekit doctor`") from None

    def _folder(self, commit: str | None, path: str) -> pygit2.Tree | None:
        """Return a folder of a commit; it is read once for all its files, of which there may be thousands."""
        of, folders = self._folders
        if of != commit:
            folders = {}
            self._folders = commit, folders
        if path not in folders:
            tree = self.tree(commit)
            if path and tree is not None:
                found = tree[path] if path in tree else None  # noqa: SIM401 - a pygit2.Tree has no get
                tree = found if isinstance(found, pygit2.Tree) else None
            folders[path] = tree
        return folders[path]

    def blobs(self, commit: str | None) -> dict[str, str]:
        """Return path -> blob id of every regular file below `registry/` and `archives/`."""
        found: dict[str, str] = {}
        for top in TOPS:
            if (tree := self._folder(commit, self.prefix + top)) is not None:
                found.update(_walk(tree, top))
        return found

    def blob_id(self, commit: str | None, path: str) -> str | None:
        """Return the id of the file at a path, or None.

        Raises StoreError where something else than a regular file is.
        """
        folder, _, name = f"{self.prefix}{path}".rpartition("/")
        tree = self._folder(commit, folder)
        if tree is None or name not in tree:
            return None
        entry = tree[name]
        if entry.filemode not in {FileMode.BLOB, FileMode.BLOB_EXECUTABLE}:
            raise StoreError(f"{path} is no regular file in git; delete it and commit that")
        return str(entry.id)

    def read_blob(self, blob: str) -> bytes:
        """Return the bytes of a blob."""
        return self.raw[blob].peel(pygit2.Blob).data

    def read_at(self, commit: str, path: str) -> bytes:
        """Return the bytes of a file at a commit; raises NotFoundError."""
        blob = self.blob_id(commit, path)
        if blob is None:
            raise NotFoundError("file", path, f"commit {commit[:12]} does not hold it")
        return self.read_blob(blob)

    def unchanged(self, path: str) -> bool:
        """Say whether git sees no change in a tracked file, line-end conversion counted in."""
        require_no_pipes((self.root / path).parents)
        try:
            return bool(self.raw.status_file(self.prefix + path) == FileStatus.CURRENT)
        except KeyError:
            return False

    def changed_paths(self, under: Sequence[str] = TOPS) -> list[str]:
        """Return the paths with uncommitted changes: staged, unstaged or untracked."""
        require_no_pipes(Path(folder) for top in under for folder, _, _ in os.walk(self.root / top))
        try:
            status = self.raw.status(untracked_files="all", ignored=False)
        except pygit2.GitError as e:  # such as folders in folders, a hundred deep
            raise RepositoryError(f"git cannot say what is uncommitted in {self.top}: {e}") from None
        paths = (path.removeprefix(self.prefix) for path in status if path.startswith(self.prefix))
        return sorted(path for path in paths if f"{path}/".startswith(tuple(f"{top}/" for top in under)))

    def index(self) -> dict[str, str]:
        """Return path -> blob id of every regular file of the registry that the index holds."""
        listed = self.run("ls-files", "--stage", "-z").decode("utf-8", "surrogateescape")
        rows = (row.partition("\t") for row in listed.split("\0") if row.startswith("100"))
        return {path: head.split(" ")[1] for head, _, path in rows if head.endswith(" 0")}

    def staged(self) -> list[tuple[str, bytes]]:
        """Return path and bytes of each regular file that the index adds or changes."""
        committed = self.blobs(self.tip())
        return [
            (path, self.read_blob(blob))
            for path, blob in self.index().items()
            if path.startswith(tuple(f"{top}/" for top in TOPS)) and committed.get(path) != blob
        ]

    def identity(self, role: str, env: Mapping[str, str] = os.environ) -> pygit2.Signature:
        """Return who commits, now.

        Args:
            role: `AUTHOR` or `COMMITTER`.
            env: `GIT_<role>_NAME` and `GIT_<role>_EMAIL` win over git's settings.

        Raises RepositoryError naming the `git config` commands to run.
        """
        named = {key: env[key] for key in (f"GIT_{role}_NAME", f"GIT_{role}_EMAIL") if env.get(key)}
        key = (role, *named, *named.values())
        if key not in self._people:  # git is asked: it includes files that libgit2 does not know of
            own = {"LC_ALL": "C", **named}
            done = self.attempt("-c", "user.useConfigOnly=true", "var", f"GIT_{role}_IDENT", env=own)
            found = _PERSON.fullmatch(done.stdout.decode("utf-8", "replace"))
            if found is None:
                reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise RepositoryError(
                    f"git does not know who you are ({reason.removeprefix('fatal: ') or 'no email'}); run "
                    '`git config --global user.name "Your Name"` and '
                    "`git config --global user.email you@example.org`"
                )
            name = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", found[1]).split())
            self._people[key] = name, found[2]
        return pygit2.Signature(*self._people[key])


def create(folder: Path) -> None:
    """Make a folder a git repository with an empty branch; raises WriteError."""
    try:
        pygit2.init_repository(str(folder))
    except (pygit2.GitError, OSError) as e:
        raise WriteError(str(folder), str(e)) from None


class _Raw(pygit2.Repository):
    """A repository whose lost objects are a RepositoryError; pygit2 raises a KeyError."""

    def __getitem__(self, key: str | pygit2.Oid) -> pygit2.Object:
        try:
            return super().__getitem__(key)
        except KeyError as e:
            raise lost_object(e) from None


def _opened(top: Path) -> pygit2.Repository:
    try:
        raw = _Raw(str(top), RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, KeyError, ValueError) as e:
        reason = str(e)
    else:
        if not raw.is_bare:
            return raw
        raise RepositoryError(f"{top} is a bare git repository; run this in a clone of it, where files are")
    if "object format" in reason or "objectformat" in reason:
        raise RepositoryError(
            f"{top} names its objects by SHA-256, which libgit2 cannot read; "
            "keep the registry in a repository made by `git init --object-format=sha1`"
        )
    if "not owned" in reason:
        raise RepositoryError(
            f"{top} belongs to somebody else; if you trust it, "
            f"run `git config --global --add safe.directory {top}`"
        )
    raise RepositoryError(f"{top} cannot be opened as a git repository: {reason}; run `git status` there")


def _walk(tree: pygit2.Tree, folder: str) -> Iterator[tuple[str, str]]:
    for entry in tree:
        path = f"{folder}/{entry.name}"
        if isinstance(entry, pygit2.Tree):
            yield from _walk(entry, path)
        elif entry.filemode in {FileMode.BLOB, FileMode.BLOB_EXECUTABLE}:
            yield path, str(entry.id)


def lost_object(error: KeyError) -> RepositoryError:
    """Return the error for an object that git should have and cannot read; libgit2 raises a KeyError."""
    return RepositoryError(f"git cannot read object {error.args[0]!s:.12}; run `forgekit doctor`")


def blob_of(data: bytes) -> str:
    """Return the id that git gives to these bytes."""
    return str(pygit2.hash(data))


def present(root: Path, path: str) -> str | None:
    """Return the blob id of a file in the work tree; None where there is none, "" for no regular one."""
    try:
        data = files.read_bytes(root, path)
    except FormatError:
        return ""
    return None if data is None else blob_of(data)


def diff(old: bytes | None, new: bytes | None, path: str) -> str:
    """Return a unified diff of one file; None means no file."""
    text = pygit2.Patch.create_from(old, new, path, path).data.decode("utf-8", "replace")
    head, start, body = text.partition("--- ")
    return start + body or head  # all is head where a file holds no text
