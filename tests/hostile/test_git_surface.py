"""A folder that came from somebody else: nothing in it runs, nothing outside it is written, nothing waits."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hostile_registry as sound
import pytest
from cli_runner import Cli
from guarantees import Report
from repositories import git

from forgekit.git.program import Program
from forgekit.model.entities import entity_path

ROOT = Path(__file__).parents[2]
NAME = sound.DECISIONS[3].id
HOOKS = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "update",
]
RUNS = [
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "pager.diff",
    "diff.external",
    "core.sshCommand",
    "core.editor",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "core.askPass",
    "core.alternateRefsCommand",
    "core.gitProxy",
    "uploadpack.packObjectsHook",
    "interactive.diffFilter",
    "filter.pwn.clean",
    "filter.pwn.smudge",
    "filter.pwn.process",
    "diff.pwn.textconv",
    "diff.pwn.command",
    "merge.pwn.driver",
    "trailer.pwn.command",
    "trailer.pwn.cmd",
]
COMMANDS = (
    ("status",),
    ("check",),
    ("doctor",),
    ("search", "ledger", "--limit", "3"),
    ("search", "ledger", "--as-of", "HEAD"),
    ("log", "--limit", "2"),
    ("history", NAME),
    ("show", NAME),
    ("show", NAME, "--at", "HEAD"),
    ("decision", "list"),
    ("prepare-compression",),
    ("prepare-continuation", "--tag", sound.TAG),
    ("ask", "why keep ledger table 3"),
    ("decision", "new", "Go on all the same", "--project", "Ledger"),
    ("check", "--fix", "--dry-run"),
    ("export", "--format", "json"),
    ("index", "status"),
    ("hook", "archives"),
    ("hook", "check", "forgekit.toml"),
    ("stale",),
)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def _run(root: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a command line as a process; one that waits for ever is a failure."""
    command = [*before, sys.executable, "-m", "forgekit", *arguments]
    return subprocess.run(
        command,
        cwd=root,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,  # far above what a slow machine needs
        check=False,
    )


def _canary(root: Path, name: str = "canary") -> str:
    """Return a program that leaves a mark beside the registry."""
    program = root.parent / f"run-{name}"
    program.write_text(f"#!/bin/sh\ntouch {root.parent}/ran-{name}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def _set(root: Path, key: str, value: str) -> None:
    git(root.parent, "config", "--file", str(root / ".git/config"), "--add", key, value)


def _ran(root: Path) -> list[str]:
    return sorted(path.name for path in root.parent.iterdir() if path.name.startswith("ran-"))


@pytest.fixture
def received(copied: Path) -> Path:
    """Return a registry whose git folder runs a canary from every place that git knows."""
    for number, key in enumerate(RUNS):
        _set(copied, key, _canary(copied, f"{number}-{key.rpartition('.')[2]}"))
    for name in ("log", "ls-files", "rev-parse", "diff-index", "cat-file", "read-tree", "commit-graph"):
        _set(copied, f"alias.{name}", "!" + _canary(copied, f"alias-{name}"))
    hooks = copied.parent / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        shutil.copy(_canary(copied, name), hooks / name)
        shutil.copy(hooks / name, copied / ".git/hooks" / name)
    _set(copied, "core.hooksPath", str(hooks))
    include = copied.parent / "included"
    include.write_text(f"[core]\n\tfsmonitor = {_canary(copied, 'included')}\n", encoding="utf-8")
    _set(copied, "include.path", str(include))
    for key, value in {
        "log.showSignature": "true",
        "format.pretty": "%G?",
        "protocol.ext.allow": "always",
        "submodule.recurse": "true",
        "filter.pwn.required": "true",
    }.items():
        _set(copied, key, value)
    (copied / ".gitattributes").write_text("*.md filter=pwn diff=pwn merge=pwn\n", encoding="utf-8")
    url = f'[submodule "x"]\n\tpath = x\n\turl = "ext::{_canary(copied, "submodule")}"\n'
    (copied / ".gitmodules").write_text(url, encoding="utf-8")
    return copied


def test_nothing_of_a_received_folder_runs(received: Path, guarantee: Report) -> None:
    for arguments in COMMANDS:
        ran = _run(received, *arguments)
        assert "Traceback" not in ran.stderr, arguments
        assert ran.returncode in {0, 1}, (arguments, ran.stderr)
        assert _ran(received) == [], arguments
    subprocess.run(["git", "status"], cwd=received, capture_output=True, check=False)
    assert _ran(received), "the canaries do not sing"
    guarantee(
        "G17",
        "nothing of a received git folder runs",
        f"{len(RUNS) + len(HOOKS) + 9} canaries, {len(COMMANDS)} commands: 0 ran",
    )


@pytest.mark.parametrize("damage", ["no index", "an entry is gone"])
def test_a_repair_runs_no_filter(copied: Path, damage: str) -> None:
    if damage == "no index":
        (copied / ".git/index").unlink()
    else:
        git(copied, "rm", "--quiet", "--cached", entity_path(sound.DECISIONS[3]))
        for path in (copied / "registry").rglob("*.md"):
            path.touch()  # so that git would look at each
    _set(copied, "filter.pwn.clean", _canary(copied))
    (copied / ".git/info").mkdir(exist_ok=True)
    (copied / ".git/info/attributes").write_text("*.md filter=pwn\n", encoding="utf-8")
    ran = _run(copied, "doctor", "--repair", "--yes")
    assert "index" in ran.stdout
    assert _ran(copied) == []
    git(copied, "diff-index", "--cached", "--quiet", "HEAD")
    subprocess.run(["git", "status"], cwd=copied, capture_output=True, check=False)
    assert _ran(copied), "the canary does not sing"


def _partial(root: Path, url: str) -> None:
    """Make a folder a partial clone that lacks a tree, so that git wants to fetch it."""
    for pack in list((root / ".git/objects/pack").glob("*.pack")):
        data = pack.read_bytes()
        pack.unlink()
        pack.with_suffix(".idx").unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=root, input=data, check=True)
    tree = git(root, "rev-parse", "HEAD:registry").strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": url,
        "remote.origin.uploadpack": _canary(root, "uploadpack"),
        "core.sshCommand": _canary(root, "ssh"),
        "protocol.allow": "always",
    }.items():
        _set(root, key, value)


@pytest.mark.parametrize("url", ["BASE", "ssh://example.invalid/x", "ext::sh -c true% %S"])
def test_a_folder_that_calls_itself_a_partial_clone_fetches_nothing(
    copied: Path, base: Path, url: str
) -> None:
    """git fetches what a partial clone lacks by itself, with the commands that the folder names."""
    _partial(copied, url.replace("BASE", str(base)))
    for arguments in (("log",), ("history", NAME), ("hook", "archives"), ("status",)):
        ran = _run(copied, *arguments)
        assert "Traceback" not in ran.stderr
        assert _ran(copied) == [], arguments
    if "BASE" in url:
        subprocess.run(["git", "log", "--", "registry"], cwd=copied, capture_output=True, check=False)
        assert _ran(copied) == ["ran-uploadpack"], "the canary does not sing"


_TREE = (".gitattributes", ".gitignore", "registry/.gitattributes")
_GIT = ("HEAD", "config", "index", "packed-refs", "info/attributes", "info/exclude", "refs/heads/main")


@pytest.mark.parametrize("name", [*_TREE, *(f".git/{name}" for name in _GIT)])
def test_no_command_waits_for_a_pipe(copied: Path, name: str) -> None:
    path = copied / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    ran = _run(copied, "status")
    said = ran.stdout + ran.stderr
    assert (ran.returncode, "Traceback" in said) == (0 if name.startswith("registry/") else 1, False)
    assert name in said


def _journal(root: Path, path: str, **more: object) -> None:
    """Leave what a killed write leaves: the order to take a file away."""
    known = git(root, "hash-object", str(root.parent / "victim.txt")).strip()
    fields = {
        "prefix": "",
        "ref": "refs/heads/main",
        "parent": None,
        "commit": "0" * 39 + "1",
        "subject": "x",
        "steps": [{"path": path, "old": None, "before": None, "staged": None, "new": known}],
    }
    (root / ".git/forgekit").mkdir()
    (root / ".git/forgekit/journal-main.json").write_text(json.dumps(fields | more), encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("registry/../../victim.txt", {}),
        ("../victim.txt", {}),
        ("registry/x", {"commit": "x/../../../victim"}),
        ("registry/x", {"ref": "../../victim"}),
        ("registry/x", {"ref": "refs/heads/../../../../victim"}),
        (".git/config", {}),
        (".GIT/config", {}),
        ("victim.txt", {"prefix": "../"}),
        ("victim.txt", {"prefix": "registry/../../"}),
        ("config", {"prefix": ".git/"}),
        ("victim.txt", {"prefix": "outside/"}),
    ],
)
def test_a_journal_that_came_with_the_folder_touches_nothing_outside(
    copied: Path, cli: Cli, path: str, more: dict[str, object]
) -> None:
    victim = copied.parent / "victim.txt"
    victim.write_text("known to everybody\n", encoding="utf-8")
    git(copied.parent, "init", "--quiet")
    (copied / "outside").symlink_to("..")
    config = (copied / ".git/config").read_bytes()
    _journal(copied, path, **more)
    ran = cli("decision", "new", "Go on all the same", "--project", "Ledger", root=copied)
    assert ran.code == 1
    journal = copied / ".git/forgekit/journal-main.json"
    assert ran.err == f"forgekit: {journal} is damaged; see `git status`, then delete that file\n"
    assert victim.read_text(encoding="utf-8") == "known to everybody\n"
    assert (copied / ".git/config").read_bytes() == config


@pytest.mark.parametrize("name", ["", "/journal-main.new", "/catalogue.lock", "/write.lock", "/vectors/x"])
def test_links_in_the_cache_are_not_followed(copied: Path, cli: Cli, name: str) -> None:
    victim = copied.parent / "victim"
    if name:
        victim.write_text("mine", encoding="utf-8")
    else:
        victim.mkdir()
    link = copied / f".git/forgekit{name}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(victim)
    for command in (("decision", "new", "Go on all the same", "--project", "Ledger"), ("status",)):
        ran = cli(*command, root=copied)
        assert ran.code == 1
        assert ran.err == f"forgekit: {link} is a symbolic link; delete it, the cache makes itself anew\n"
    assert list(victim.iterdir()) == [] if not name else victim.read_text(encoding="utf-8") == "mine"


def test_git_is_never_taken_from_the_folder_where_somebody_stands(
    copied: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(_canary(copied, "git"), copied / "git")
    monkeypatch.setenv("PATH", f":.{os.pathsep}{os.environ['PATH']}")
    assert cli("log", root=copied).code == 0
    assert cli("hook", "archives").code == 0
    assert _ran(copied) == []


REVISIONS = [
    "--output=X",
    "-O",
    "HEAD:../../x",
    "HEAD:registry",
    "ext::sh -c touch% X",
    ":/start",
    "HEAD^{/start}",
    "@{-1}",
    "HEAD\n--output=X",
    "$(touch X)",
    "HEAD;touch X",
    "\x00",
    "refs/../../x",
    "../HEAD",
    "A" * 5_000,
]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_is_a_name_and_nothing_else(copied: Path, cli: Cli, revision: str) -> None:
    for arguments in (("show", NAME, "--at", revision), ("search", "ledger", "--as-of", revision)):
        ran = cli(*arguments, root=copied)
        assert (ran.code, ran.out) == (1, ""), arguments
        assert ran.err.startswith("forgekit: no revision or date answers to ")
        assert len(ran.err) < 6_000
    assert not (copied / "X").exists()


WORDS = [
    "--output=X",
    "-rf",
    "--",
    '"',
    "'",
    "c++",
    "AND",
    "OR NOT",
    "NEAR(a b, 2)",
    "a*",
    "^a",
    "title:a",
    "(",
    "{a b}:",
    ";--",
    "%",
    "\\",
    "\x00",
    "*",
]


@pytest.mark.parametrize("words", WORDS)
def test_words_are_words(copied: Path, cli: Cli, words: str) -> None:
    """What a person looks for is neither an option, nor full-text syntax, nor SQL."""
    for arguments in (("search", "--", words), ("context", "--", words), ("ask", "--", words)):
        ran = cli(*arguments, root=copied)
        if any(map(str.isalnum, words)):
            assert ran.code in {0, 1}, (arguments, ran.err)
        else:
            assert (ran.code, ran.err) == (2, "forgekit: nothing to look for; type a word at least\n")
        assert "Traceback" not in ran.err
    for named in (
        ("decision", "show", "--", words),
        ("trace", "--", words),
        ("prepare-continuation", "--tag", words),
    ):
        ran = cli(*named)
        assert (ran.code, ran.out) == (1, ""), named
    assert not (copied / "X").exists()


@pytest.mark.parametrize("name", ["--output=X", "-rf", "../x", "a/b", "\u202ex", "a`touch X`"])
def test_a_projects_name_is_a_name(copied: Path, cli: Cli, name: str) -> None:
    ran = cli("decision", "new", "Use NATS", f"--project={name}", root=copied)
    assert ran.code == 0, ran.err
    written = git(copied, "show", "--name-only", "--format=%s", "HEAD").split()
    assert all(re.fullmatch(r"[\w/:.-]+|decision:|new", word) for word in written)
    assert not (copied / "X").exists()


def _strace() -> str | None:
    program = shutil.which("strace")
    if program is None:
        return None
    done = subprocess.run([program, "-f", "true"], capture_output=True, check=False)
    return program if done.returncode == 0 else None


STRACE = _strace()
_EXEC = re.compile(r'execve\("([^"]+)", \[(.*)\]')
_OPENED = re.compile(
    r'(?:openat\([^,]+, |open\(|creat\(|mkdir\(|mkdirat\([^,]+, |rename\("[^"]+", |unlink\(|'
    r'symlink\("[^"]+", )"(/[^"]+)"(.*)'
)
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|^\)|^, 0")


@pytest.mark.skipif(
    STRACE is None,
    reason="LOUD SKIP: strace is not installed or may not trace; what is executed is unaudited",
)
def test_what_is_executed_written_and_connected_to(received: Path, guarantee: Report) -> None:
    calls = "execve,open,openat,creat,mkdir,mkdirat,rename,unlink,symlink,connect,sendto"
    audited = (
        ("status",),
        ("log",),
        ("decision", "new", "Go on", "--project", "Ledger"),
        ("show", NAME, "--at", "HEAD"),
        ("hook", "archives"),
    )
    allowed = (f"{received}/", "/dev/null", "/dev/tty", "/proc/self/")
    executed: list[str] = []
    for number, arguments in enumerate(audited):
        trace = received.parent / f"trace-{number}"
        before = (str(STRACE), "-f", "-s", "400", "-e", f"trace={calls}", "-o", str(trace))
        assert _run(received, *arguments, before=before).returncode == 0
        for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
            if (run := _EXEC.search(line)) and "= 0" in line:
                executed.append(f"{run[1]} {run[2]}")
            assert not re.search(r"connect\(.*AF_INET", line), line
            if (opened := _OPENED.search(line)) and "= -1" not in line and _WRITES.search(opened[2]):
                assert opened[1].startswith(allowed), line
    gits = [line for line in executed if "/git " in line]
    others = [line for line in executed if line not in gits and sys.executable not in line.split()[0]]
    assert others == []
    assert gits
    for line in gits:
        assert '"core.hooksPath=/dev/null"' in line
        assert '"core.fsmonitor=false"' in line
    guarantee(
        "G17",
        "executes git alone, writes below the registry, connects nowhere",
        f"{len(audited)} commands traced, {len(gits)} git calls",
    )


def test_the_git_program_gets_no_protocol_and_no_prompt(copied: Path) -> None:
    program = Program(copied)
    for name, value in {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }.items():
        assert program.run("-c", f"alias.say=!echo ${name}", "say").decode().strip() == value
