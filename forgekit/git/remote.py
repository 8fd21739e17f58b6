"""git, elsewhere: the repository that a branch is shared through, fetched from and pushed to.

The git program talks, since it knows everybody's transports and passwords. Which repository that is comes
from the clone's settings and is checked; no setting of the clone names a program that is run for it.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

import pygit2

from forgekit.errors import RemoteError
from forgekit.git.repository import Repository

_NAME = re.compile(r"\w[^\x00-\x20~^:?*\[\\\x7f]{0,200}")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
# Settings that name a program which a fetch or a push runs. In a person's own settings they are meant; in
# those of a folder that came from somewhere they may be a trap.
_PROGRAMS = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(?:.*\.)?helper"
    r"|remote\..*\.(?:vcs|uploadpack|receivepack)|gpg\.(?:.*\.)?program|gpg\.ssh\.defaultkeycommand"
)
# By itself git leaves objects that come singly unsynced; a merge of ours is to outlive a power failure.
_SHARED = (
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "fetch.fsckObjects=true", "-c", "core.fsync=committed"),
)
_TRANSPORTS = "file:git:http:https:ssh"
_ENV = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS")


@dataclass(frozen=True, kw_only=True, slots=True)
class Remote:
    """A branch of another repository.

    Attributes:
        name: as the clone calls the repository.
        branch: its name there, without `refs/heads/`.
    """

    name: str
    branch: str

    def __str__(self) -> str:
        return f"{self.name}/{self.branch}"


def upstream(repository: Repository) -> Remote:
    """Return what the current branch is shared through: its upstream, else the same branch of `origin`.

    Raises RemoteError with what to type where there is none, or one that is not to be trusted.
    """
    ref = repository.head().ref
    if not ref.startswith("refs/heads/"):
        raise RemoteError("no branch is checked out; `git switch` to the one to be shared")
    branch = ref.removeprefix("refs/heads/")
    name = _setting(repository, f"branch.{branch}.remote") or "origin"
    there = _setting(repository, f"branch.{branch}.merge").removeprefix("refs/heads/") or branch
    urls = [_setting(repository, f"remote.{name}.{key}") for key in ("url", "pushurl")]
    if not urls[0]:
        raise RemoteError(
            f"there is no remote {name!r} to share {branch} through; `git remote add origin URL` names one"
        )
    if not _NAME.fullmatch(name) or not _NAME.fullmatch(there):
        raise RemoteError(f"{name!r} or {there!r} is no name of a remote and a branch; see `.git/config`")
    for url in urls:
        if url.startswith("-") or _HELPER.match(url):
            raise RemoteError(f"{url!r} would run a program; give remote {name} the address of a repository")
    # git lists them itself: it includes files (`includeIf "hasconfig:..."`) that libgit2 does not know of.
    listed = repository.run("config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        if scope in {"local", "worktree"} and _PROGRAMS.fullmatch(setting):
            raise RemoteError(
                f"{setting} in this clone's .git/config names a program to run; if you trust it, move it to "
                "your own settings (`git config --global`), else delete it (`git config --unset`)"
            )
    return Remote(name=name, branch=there)


def fetch(repository: Repository, remote: Remote) -> str | None:
    """Fetch the branch and return its tip, or None where the other repository has no such branch yet.

    Raises RemoteError when the repository cannot be reached.
    """
    head, tracking = f"refs/heads/{remote.branch}", f"refs/remotes/{remote.name}/{remote.branch}"
    options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    program = "--upload-pack=git-upload-pack"
    done = _run(
        repository, "fetch", *options, program, "--end-of-options", remote.name, f"+{head}:{tracking}"
    )
    if done.returncode and b"couldn't find remote ref" in done.stderr:
        return None
    _require_done(remote, done)
    return str(repository.raw.lookup_reference(tracking).target)


def push(repository: Repository, remote: Remote, commit: str) -> None:
    """Make a commit the tip of the branch there; never against what the branch holds.

    Raises RemoteError when the repository cannot be reached or refuses.
    """
    options = ("--quiet", "--no-recurse-submodules", "--receive-pack=git-receive-pack")
    refs = f"{commit}:refs/heads/{remote.branch}"
    _require_done(remote, _run(repository, "push", *options, "--end-of-options", remote.name, refs))


def _run(repository: Repository, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: os.environ[name] for name in _ENV if name in os.environ}
    env = {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": _TRANSPORTS, **kept}
    return repository.attempt(*_SHARED, *arguments, env=env)


def _require_done(remote: Remote, done: subprocess.CompletedProcess[bytes]) -> None:
    if not done.returncode:
        return
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:", " !", "remote:"))]
    reason = " ".join((telling or lines or ["no reason given"])[0].split())
    raise RemoteError(
        f"{remote} cannot be reached or refuses: {reason}; nothing is lost here, "
        "run `forgekit sync` again when it can be"
    )


def _setting(repository: Repository, key: str) -> str:
    try:
        return str(repository.raw.config[key])
    except (KeyError, ValueError, pygit2.GitError):
        return ""
