"""Operations that are harmed, and what must hold after each harm, whatever it was."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fault_injection import Call, Fault, Ran, Server, restore, sound
from independent_reader import listed, plain_git, read

CASES = Path(__file__).parents[1] / "cases/archives"
ARCHIVES = [str(CASES / f"example_{letter}.md") for letter in "ab"]
NEXUS = ("--project", "The Nexus")
ATLAS = ("--project", "Atlas")
NEXT = ("decision", "new", *ATLAS, "Keep the logs for a year")
SECONDS = 10.0  # within which the next writer must be through
REFUSED = 1
_SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context.\n\n"
    "Summary:\n1. Primary Request and Intent:\n   Build the ledger.\n\n"
    "7. Pending Tasks:\n   - Write the export of refunds\n"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """A command to be harmed.

    Attributes:
        before: command lines that make the registry it starts from.
        edit: what a person then has put in the place of what, in every file, and has not committed.
        words: the command line; `{tmp}` stands for a folder of files to read.
        again: what a repetition exits with when the first one came through.
        all_faults: whether each call meets every fault at level N, and not three of them in turn.
        shared: whether there is another clone, in which another decision was made.
    """

    before: Sequence[Sequence[str]] = ()
    edit: tuple[str, str] | None = None
    words: Sequence[str]
    again: int = 0
    all_faults: bool = False
    shared: bool = False


_FILED = ("sync-compression", *NEXUS, ARCHIVES[0])
_DECIDED = ("decision", "new", *ATLAS, "Rows have integer keys", "--rationale", "Short.")
_STATED = ("convention", "new", *ATLAS, "Rows have integer keys")
OPERATIONS = {
    "create": Operation(
        words=("decision", "new", *ATLAS, "Rows have random keys", "--rationale", "No server."),
        all_faults=True,
    ),
    "update": Operation(
        before=[_DECIDED],
        words=("decision", "edit", "Rows have integer keys", "--rationale", "Long."),
        all_faults=True,
    ),
    "revise": Operation(
        before=[_DECIDED],
        words=("decision", "revise", "Rows have integer keys", "Rows have text keys"),
        again=REFUSED,
        all_faults=True,
    ),
    "fix": Operation(before=[_DECIDED], edit=("integer", "text"), words=("check", "--fix"), all_faults=True),
    "convention": Operation(
        before=[_STATED],
        words=("convention", "edit", "Rows have integer keys", "--text", "Rows have text keys"),
        again=REFUSED,
    ),
    "sync": Operation(before=[_FILED], words=("sync-compression", *NEXUS, *ARCHIVES)),
    "merge": Operation(before=[_DECIDED], words=("sync",), shared=True),
    "rebuild": Operation(before=[_FILED, _DECIDED], words=("index", "build")),
    "ingest": Operation(words=("sync-compression", *ATLAS, "{tmp}/talk.jsonl")),
}


def transcript(folder: Path) -> Path:
    """Write a transcript of a coding agent in which one compaction took place."""
    common = {
        "sessionId": "5b0c8a52-6f0e-4c1b-9d57-2e94c6f3a7d1",
        "cwd": "/home/ada/ledger",
        "version": "2.1.0",
    }
    at = "2026-03-01T12:00:00.000Z"
    boundary = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 150000}}
    message = {"role": "user", "content": _SUMMARY}
    rows = [
        {"type": "system", "uuid": "u1", "timestamp": at, **common, **boundary},
        {
            "type": "user",
            "uuid": "u2",
            "timestamp": at,
            **common,
            "isCompactSummary": True,
            "message": message,
        },
    ]
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _history(root: Path) -> list[str]:
    """Return the trees of all commits, the newest first."""
    return plain_git(root, "log", "--format=%T").decode().split()


class Trial:
    """One operation on one registry, to be harmed again and again."""

    def __init__(self, server: Server, operation: Operation, scratch: Path) -> None:
        self.server = server
        self.again = operation.again
        self.slowest = 0.0
        self.root, self.base = scratch / "registry", scratch / "base"
        self.root.mkdir()
        self.base.mkdir()
        transcript(scratch)
        self.words = [word.replace("{tmp}", str(scratch)) for word in operation.words]
        made = server.run(self.root, ["init", "."], *operation.before)
        assert [ran.code for ran in made.done] == [0] * len(made.done), made.done
        self.pairs = [(self.base, self.root)]
        if operation.shared:
            self._share(scratch)
        if operation.edit is not None:
            for path in self.root.glob("registry/**/*.md"):
                path.write_text(path.read_text("utf-8").replace(*operation.edit), encoding="utf-8")
        for base, place in self.pairs:
            restore(place, base)
        self.old = _history(self.root)
        ended = server.run(self.root, self.words, record=True)
        assert ended.done[0].code == 0, ended.done[0].err
        self.calls: list[Call] = server.recorded()
        assert self.calls, "the shim saw no call"
        self.new = _history(self.root)
        self.contents = {tree: read(self.root, tree) for tree in {self.old[0], self.new[0]}}
        assert server.run(self.root, NEXT).done[0].code == 0
        self.final = _history(self.root)
        self.files = listed(self.root)
        sound(self.root, self.files)

    def _share(self, scratch: Path) -> None:
        """Give the registry a remote to which somebody has pushed another decision."""
        other, friend, kept = scratch / "other.git", scratch / "friend", scratch / "other-base"
        plain_git(scratch, "clone", "--quiet", "--bare", str(self.root), str(other))
        plain_git(self.root, "remote", "add", "origin", str(other))
        plain_git(scratch, "clone", "--quiet", str(other), str(friend))
        made = self.server.run(friend, ("decision", "new", *ATLAS, "Columns have short names"))
        assert made.done[0].code == 0, made.done[0].err
        plain_git(friend, "push", "--quiet", "origin", "HEAD")
        mine = self.server.run(self.root, ("decision", "new", *ATLAS, "Tables have long names"))
        assert mine.done[0].code == 0, mine.done[0].err
        # What git fetches it writes in a process of its own, where no call is counted.
        plain_git(self.root, "fetch", "--quiet", "origin")
        kept.mkdir()
        self.pairs.append((kept, other))

    def reset(self) -> None:
        """Go back to before the operation."""
        for base, place in self.pairs:
            restore(base, place)

    def harm(self, call: int, fault: Fault, *, next_first: bool, kill_at_end: bool = False) -> str:
        """Run the operation with a fault, look at what it left, go on; return what came of it."""
        self.reset()
        ended = self.server.run(self.root, self.words, call=call, fault=fault, kill_at_end=kill_at_end)
        outcome = self.outcome()
        if ended.done and not kill_at_end:
            _said(ended.done[0], outcome)
        else:
            assert ended.status in {-signal.SIGKILL, -signal.SIGTERM}, ended
        self.go_on(outcome, next_first=next_first)
        return outcome

    def outcome(self) -> str:
        """Say what an independent reader finds: `old`, `new`, or `same` where the two are one."""
        history = _history(self.root)
        assert history in (self.old, self.new), "neither old nor new is at the tip"
        assert read(self.root, history[0]) == self.contents[history[0]]
        return "same" if self.old == self.new else "new" if history == self.new else "old"

    def go_on(self, outcome: str, *, next_first: bool) -> None:
        """Repeat the operation and do another one, unaided; nothing is there twice, and no trace is left."""
        later = [NEXT, self.words] if next_first else [self.words, NEXT]
        came = self.server.run(self.root, *later)
        codes = {tuple(words): ran for words, ran in zip(later, came.done, strict=True)}
        assert codes[NEXT].code == 0, codes[NEXT].err
        repeated = codes[tuple(self.words)]
        assert repeated.code == (self.again if outcome == "new" else 0), repeated.err
        self.slowest = max(self.slowest, *(ran.seconds for ran in came.done))
        assert self.slowest < SECONDS, f"the next writer took {self.slowest:.1f} s"
        history = _history(self.root)
        assert history[0] == self.final[0]
        assert len(history) == len(self.final)
        sound(self.root, self.files)


def _said(ran: Ran, outcome: str) -> None:
    """Assert that what a command line said is true, and said in one sentence."""
    assert ran.code in {0, REFUSED, 130}, ran.err
    if ran.code == 0:
        assert outcome != "old", "acknowledged, and not there"
    elif ran.code == REFUSED and " checked: " not in ran.err:  # a check ends so where it finds something
        sentences = [line for line in ran.err.splitlines() if line.startswith("forgekit: ")]
        assert len(sentences) == 1, ran.err
        assert "Traceback" not in ran.err, ran.err
        assert outcome != "new" or "nothing was recorded" not in ran.err, ran.err


def _run_shared(server: Server, folder: Path) -> None:
    """Let the server sync once."""
    other = folder.parent / "warm.git"
    plain_git(folder.parent, "clone", "--quiet", "--bare", str(folder), str(other))
    plain_git(folder, "remote", "add", "origin", str(other))
    server.run(folder, ["sync"], warm=True)


def warm_up(server: Server, folder: Path) -> None:
    """Run every operation once in the server itself."""
    folder.mkdir()
    transcript(folder)
    alone = [each for each in OPERATIONS.values() if not each.shared]
    words = [[word.replace("{tmp}", str(folder)) for word in each.words] for each in alone]
    server.run(folder, ["init", "."], _DECIDED, _STATED, *words, NEXT, warm=True)
    _run_shared(server, folder)
