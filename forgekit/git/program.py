"""The git program: nothing of the repository's own is run by it, and nothing of libgit2 is loaded for it.

It prints history, because it alone uses the commit graph's changed-path filters. No hook, filter or pager
runs; owner validation stays on. Paths are relative to the registry's root and `/`-separated.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.errors import RepositoryError
from forgekit.frozen import frozen
from forgekit.times import Instant
from forgekit.worktree.roots import TOPS, git_dirs, git_program, require_no_pipes, work_tree

if TYPE_CHECKING:
    import subprocess

_KEPT_ENV = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "diff.external=",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "log.follow=false",
)
_GRAPH_SECONDS = 86_400
_LOOSE = 26  # objects in one of 256 folders, above which `gc --auto` packs all of them by default
_COMMIT_FIELDS = ("%H", "%h", "%ct", "%an", "%s", "%(trailers:only,unfold)")


@frozen(kw_only=True)
class Commit:
    """One commit of the history.

    Attributes:
        id: 40 hex digits.
        short: as many of them as tell it apart.
        trailers: `Key: value` pairs from the end of its message.
    """

    id: str
    short: str
    time: Instant
    author: str
    subject: str
    trailers: tuple[tuple[str, str], ...] = ()


class Program:
    """The git program, run in the repository that a registry lives in.

    Args:
        root: the registry's root: the work tree's top or a folder below it.

    Raises RepositoryError outside git.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.git_dir, self.common_dir = git_dirs(self.root)
        self.top = work_tree(self.root)
        self.prefix = "" if self.root == self.top else self.root.relative_to(self.top).as_posix() + "/"

    def log(
        self,
        *paths: str,
        limit: int | None = None,
        since: Instant | None = None,
        revision: str = "HEAD",
    ) -> list[Commit]:
        """Return the commits that touched one of the paths (or any), newest first.

        Args:
            paths: taken literally; renames are not followed, since a path is an id.
            revision: the last of them at most; HEAD or an id.

        Raises RepositoryError.
        """
        options = [f"--format=tformat:{'%x00'.join(_COMMIT_FIELDS)}", "-z", "--no-ext-diff", "--no-textconv"]
        if limit is not None:
            options.append(f"--max-count={limit:d}")
        if since is not None:
            options.append(f"--since=@{since // 1000:d} +0000")
        try:
            output = self.run("log", *options, "--end-of-options", revision, "--", *paths)
        except RepositoryError:
            from forgekit.git.repository import Repository

            if Repository(self.root).tip() is not None:  # which explains one that cannot be served
                raise
            return []
        values = output.decode("utf-8", "replace").split("\0")
        rows = zip(*[iter(values)] * len(_COMMIT_FIELDS), strict=False)
        return [
            Commit(
                id=row[0],
                short=row[1],
                time=Instant(int(row[2]) * 1000),
                author=row[3],
                subject=row[4],
                trailers=_trailers(row[5]),
            )
            for row in rows
        ]

    def status(self) -> list[str] | None:
        """Return the paths of the registry with uncommitted changes; None where git would run a filter.

        Raises RepositoryError when git is missing or fails.
        """
        if self.attempt("config", "--get-regexp", r"^filter\.").stdout:
            return None
        require_no_pipes((self.root, *self.root.parents))
        options = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all")
        rows = self.run("status", *options, "--", *TOPS).decode("utf-8", "surrogateescape").split("\0")
        return sorted(row[3:].removeprefix(self.prefix) for row in rows if row)

    def keep_graph(self) -> None:
        """Keep the commit graph with the filters that make `log` of one path fast: git can do without it.

        It is written once a day. The commits since then are looked at one by one, some 20 microseconds each.
        """
        graph = self.common_dir / "objects" / "info" / "commit-graphs" / "commit-graph-chain"
        with contextlib.suppress(OSError):
            if time.time() - graph.stat().st_mtime < _GRAPH_SECONDS:
                return
        # A graph that a power cut tore would be an error in every later git command.
        options = ("-c", "core.fsync=all", "commit-graph", "write", "--reachable", "--changed-paths")
        self.attempt(*options, "--split")

    def pack(self) -> None:
        """Let git pack the objects that came singly, in the background, where it finds them too many.

        Git does so behind its own commits; libgit2 never does. One folder of 256 shows how many there are.
        """
        with contextlib.suppress(OSError, RepositoryError):  # what was committed stays so
            if sum(1 for _ in (self.common_dir / "objects" / "17").iterdir()) > _LOOSE:
                self.attempt("-c", "core.fsync=all", "gc", "--auto", "--quiet")

    def run(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Run the git program in the registry's root and return what it prints.

        Raises RepositoryError when git is missing or fails.
        """
        done = self.attempt(*arguments, stdin=stdin, env=env)
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
            raise RepositoryError(f"git {arguments[0]} failed: {reason[-1]}")
        return done.stdout

    def attempt(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the git program in the registry's root, whatever comes of it.

        Raises RepositoryError when git is missing.
        """
        import subprocess  # with what it imports 2 ms, and a check of one file runs no git

        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        return subprocess.run(  # noqa: S603 - fixed arguments, ids and literal paths, no shell
            [git_program(), "--no-pager", "--literal-pathspecs", *settings, *arguments],
            cwd=self.root,
            input=stdin,
            env={**self._env(), **(env or {})},
            capture_output=True,
            check=False,
        )

    def _env(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT_ENV}
        return kept | {
            "GIT_TERMINAL_PROMPT": "0",
            # A folder may call itself a partial clone: git would fetch what it lacks with its own commands.
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_CEILING_DIRECTORIES": str(self.top.parent),
        }


def _trailers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition(": ") for line in text.splitlines())
    return tuple((key, value) for key, colon, value in pairs if colon)
