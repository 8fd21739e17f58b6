"""Anchors: what a session must not lose, folded out of its events.

A result says whether a command line passed. That is the outcome of the programs that `&&` joins at its end,
and of a pipe's last program; what the pipe prints may show that an earlier program failed. A command verifies
the work if it ran again after files had changed or failed before they did; so does any other run of such a
program. Programs that read files or their history verify nothing: a failure of `git` counts as an error,
a failure of `ls` or of a filter does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from forgekit.compaction.events import Event, EventKind
from forgekit.frozen import frozen
from forgekit.text.blocks import brief
from forgekit.text.shell import without_documents, without_quoted_operators

_LONGEST, _SHORT, _BEGINNING, _LEAST_WORDS = 1_000, 500, 300, 5
"""Characters of a request that are kept, of one that is kept whole, and of one with fewer own words."""
_MOST_BETWEEN = 2
"""Commands that are named as what may have ended a failure."""
_CHAINS = re.compile(r"\|\||;|\n")
_CUT = re.compile(r"\||\d?>|<<")
_WORD = re.compile(r"[A-Za-z][\w:.-]*")
_ASSIGNED = re.compile(r"\w+=\S*")
_PREPARES = frozenset({"cd", "export", "set", "source", "sleep", "echo", "true"})
_FILTERS = frozenset({"cat", "head", "sort", "tail", "tee", "uniq", "wc"})
"""Programs that pass whatever they read."""
_ONLY_LOOK = _FILTERS | {"ls", "pwd"}
_VERIFY_NOTHING = _ONLY_LOOK | {"git", "gh", "hg", "jj"}
_LAUNCH = frozenset({"run", "exec"})
"""Words behind which a program names another one that it runs, as `python` does behind `-m`."""
_DONE = frozenset({"completed", "deleted", "cancelled"})
_ONCE = frozenset({EventKind.PROMPT, EventKind.CALL, EventKind.BOUNDARY, EventKind.SUMMARY})
"""Events that count once where a transcript repeats them."""


class AnchorKind(Enum):
    """What an anchor is; in the order in which a block shows them."""

    CONSTRAINT = "constraint"  # what the user asked to hold from now on, in their own words
    TASK = "task"  # open
    REQUEST = "request"  # what the user typed
    DECISION = "decision"
    FILE = "file"  # changed
    ERROR = "error"  # failed, then passed; or failing still
    COMMAND = "command"  # verifies
    READ = "read"  # a file that was only read


BY_AGENT, WITHDRAWS = "agent", "withdraws"


@frozen(kw_only=True)
class Anchor:
    """One thing that must not be lost.

    Attributes:
        text: the user's words, the task, the path or the command.
        turn: the last one that it belongs to.
        state: of a task, a file or a command; `BY_AGENT` of words that are the agent's, `WITHDRAWS`
            of those that take an earlier choice back; "" for none.
        detail: what else there is to say: the error's first line, the files of its fix.
        files: changed between a failure and the pass.
        between: where none was, the last commands that passed in between.
        times: how often.
        command: as it was typed last; "" for no command.
    """

    kind: AnchorKind
    text: str
    turn: int
    state: str = ""
    detail: str = ""
    files: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    times: int = 1
    command: str = ""


class Frame(NamedTuple):
    """A stretch of work: what the user asked for and what came of it.

    Attributes:
        tools: name and number of the calls, in the order of the first.
        outcome: the assistant's last words.
    """

    turn: int
    goal: str
    outcome: str = ""
    tools: tuple[tuple[str, int], ...] = ()


class Stretch(NamedTuple):
    """What happened between two compactions.

    Attributes:
        anchors: without what a model reads (constraints, decisions), in the order of their turns.
        boundary: the compaction that ended it; None for the last one.
        used: tokens of the context at its end.
        summary: what the compaction made of it.
        again: the files that were read and the commands that failed in it.
    """

    anchors: tuple[Anchor, ...] = ()
    frames: tuple[Frame, ...] = ()
    boundary: Event | None = None
    used: int = 0
    summary: str = ""
    again: frozenset[str] = frozenset()


def own_words(prompt: str) -> str:
    """Return a short prompt, of a longer one the sentences that are its user's own, else its beginning."""
    from forgekit.extraction.sentences import before_document, own_lines, sentences  # they load slowly

    own = " ".join(" ".join(line for _, line in own_lines(prompt)).split())
    if len(own) > _SHORT:
        found = sentences(before_document(prompt))
        own = " ".join(prompt[each.start : each.start + len(each.text)] for each in found)
    chosen = own if len(own.split()) >= _LEAST_WORDS else " ".join(prompt.split())[:_BEGINNING]
    return brief(chosen, _LONGEST)


class _Program(NamedTuple):
    """One program of a command line.

    Attributes:
        words: without what its output is piped to, variables and redirections.
        target: the words without options, after those of the `cd` before it.
        launched: the same of the program that this one runs; "" for none.
        shown: whether the outcome of the line shows that it passed.
        filtered: whether it is piped to a program that may fail too.
    """

    words: Sequence[str]
    target: str
    launched: str
    shown: bool
    filtered: bool


def command_key(command: str) -> str:
    """Return the programs of a command line with their subcommands: `go test`, `npm run lint`.

    Options, paths, variables, redirections and what only prepares are left out.
    """
    keys: dict[str, None] = {}
    for program in _programs(command):
        first = 2 if program.words[1:2] == ["-m"] else 1
        words = takewhile(_WORD.fullmatch, program.words[first:3])
        keys[" ".join([*program.words[:first], *words])] = None
    return " && ".join([*keys][:3]) or " ".join(command.split())[:80]


def target_of(command: str) -> str:
    """Return a command line without options, redirections and what its output is piped to."""
    return " && ".join(program.target for program in _programs(command))


def _heads(key: str) -> set[str]:
    """Return the first two words of each program of a command's key."""
    return {" ".join(program.split()[:2]) for program in key.split(" && ")}


@lru_cache(maxsize=1_000)
def _programs(command: str) -> tuple[_Program, ...]:
    """Return the programs that a command line runs, but for those that only prepare."""
    found = []
    text = without_quoted_operators(without_documents(command).replace("\\\n", " ")).strip("; \n")
    piped, folder = hides_outcome(text), ""
    chains = _CHAINS.split(text)
    for number, chain in enumerate(chains, 1):
        for segment in chain.split("&&"):
            words = _CUT.split(segment.strip("( "), maxsplit=1)[0].split()
            while words and _ASSIGNED.fullmatch(words[0]):
                del words[0]
            if not words or words[0] in _PREPARES:
                folder = " ".join(words) if words[:1] == ["cd"] else folder
                continue
            last = segment.rpartition("|")[2].split()[:1] if piped and "|" in segment else []
            launch = (n for n, word in enumerate(words) if word in _LAUNCH or (n, word) == (1, "-m"))
            target, launched = (_target(folder, words[at:]) for at in (0, next(launch, len(words)) + 1))
            shown = number == len(chains) and not last
            found.append(_Program(words, target, launched, shown, filtered=not _FILTERS.issuperset(last)))
    return tuple(found)


def _target(folder: str, words: Sequence[str]) -> str:
    named = [word for word in words if not word.startswith("-")]
    return " ".join([folder, *named]).strip() if named else ""


def hides_outcome(command: str) -> bool:
    """Say whether a command line has a pipe, whose outcome is that of its last program only."""
    text = without_quoted_operators(command)
    return "|" in text.replace("||", "") and "pipefail" not in text


@dataclass(slots=True)
class _Command:
    """The runs of one command; `changes` are those of files before the last run."""

    text: str
    target: str
    turn: int
    runs: int = 0
    state: str = ""
    verifies: bool = False
    changes: int = -1


class _Failure(NamedTuple):
    """A failure.

    Attributes:
        changes: how many files had been changed before it.
        passed: how many commands had passed before it.
        pending: the targets that have not passed since.
        printed: only the output of a pipe shows it; a later run of that pipe without such output ends it.
    """

    error: Anchor
    changes: int
    passed: int
    pending: set[str]
    printed: bool


@dataclass(slots=True)
class _File:
    state: str
    turn: int
    times: int = 1


class _Fold:
    """The state of one stretch; tasks, failures and the last request of the one before go on."""

    def __init__(self, before: _Fold | None = None) -> None:
        self.tasks: dict[str, tuple[str, str, int]] = dict(before.tasks) if before else {}
        self.used = 0
        self.calls: dict[str, Event] = {}
        self.files: dict[str, _File] = {}
        self.commands: dict[str, _Command] = {}
        self.requests: list[Anchor] = []
        self.fixes: list[Anchor] = []
        going_on = before.frames[-1:] if before else []
        self.frames: list[Frame] = [Frame(turn=frame.turn, goal=frame.goal) for frame in going_on]
        self.changed: list[str] = before.changed if before else []
        self.passed: list[str] = before.passed if before else []
        self.again: set[str] = set()
        self.failures: dict[str, _Failure] = before.failures if before else {}
        self.answered: _Command | None = None  # by the next change: it failed, and nothing ran since
        self.checks: set[str] = set(before.checks) if before else set()

    def take(self, event: Event) -> None:
        """Take one event."""
        kind = event.kind
        if kind is EventKind.PROMPT:
            text = event.own
            self.requests.append(Anchor(kind=AnchorKind.REQUEST, text=text, turn=event.turn))
            self.frames.append(Frame(turn=event.turn, goal=text))
        elif kind is EventKind.USAGE:
            self.used = event.tokens
        elif kind is EventKind.REPLY and self.frames:
            self.frames[-1] = self.frames[-1]._replace(outcome=event.text)
        elif kind is EventKind.CALL:
            self.calls[event.id] = event
            if self.frames:
                tools = dict(self.frames[-1].tools)
                tools[event.name] = tools.get(event.name, 0) + 1
                self.frames[-1] = self.frames[-1]._replace(tools=tuple(tools.items()))
        elif kind is EventKind.RESULT and event.id in self.calls:
            self._result(self.calls.pop(event.id), event)
        elif kind is EventKind.TASKS:
            self.tasks = {key: task for key, task in self.tasks.items() if not key.startswith("todo")}
        elif kind is EventKind.TASK:
            state, text, _ = self.tasks.get(event.id, ("pending", "", 0))
            self.tasks[event.id] = event.name or state, event.text or text, event.turn

    def _result(self, call: Event, result: Event) -> None:
        if result.name:  # refused, or a call that the program did not make
            return
        if call.path and call.change and not result.failed:
            self._touch(call.path, result.change or call.change, call.turn)
        elif call.change == "ran" and call.text.strip():
            self._ran(call, result)

    def _touch(self, path: str, change: str, turn: int) -> None:
        if change == "read":
            self.again.add(path)
        known = self.files.get(path)
        if known is None:
            self.files[path] = _File(change, turn)
        else:
            known.turn = turn
            if change != "read":
                known.times = known.times + 1 if known.state != "read" else 1
                known.state = known.state if known.state == "created" else change
        if change != "read":
            if self.answered is not None:
                self.answered.verifies = True
            self.changed.append(path)

    def _ran(self, call: Event, result: Event) -> None:
        key, target, programs = command_key(call.text), target_of(call.text), _programs(call.text)
        known = self.commands.setdefault(key, _Command(call.text, target, call.turn))
        shown = {program.target for program in programs if program.shown}
        hidden = {each.target for each in programs if not each.shown and each.words[0] not in _VERIFY_NOTHING}
        printed = bool(hidden and result.text) and not result.failed
        failed = result.failed and bool(shown) and not any(program.filtered for program in programs)
        if not result.failed:
            launched = {program.launched for program in programs if program.shown}
            self._passed(shown | launched, set() if printed else hidden, call.turn)
        if known.runs and known.target == target and len(self.changed) > known.changes >= 0:
            known.verifies = True
        if failed or printed:
            error = Anchor(
                kind=AnchorKind.ERROR,
                text=key,
                turn=call.turn,
                state="passed",
                detail=_first_line(result.text),
                command=call.text,
            )
            first = self.failures.get(target) or _Failure(
                error, len(self.changed), len(self.passed), shown, printed
            )
            pending = hidden if printed else shown
            self.failures[target] = first._replace(pending=pending, printed=printed and first.printed)
            self.again.add(key)
        self.answered = known if failed or printed else None
        passed = not result.failed and all(program.shown for program in programs)
        if passed and programs and programs[0].words[0] not in _VERIFY_NOTHING:
            self.passed.append(call.text)
        known.state = "failed" if failed else "passed" if passed else "unknown"
        known.text, known.target, known.turn = call.text, target, call.turn
        known.runs, known.changes = known.runs + 1, len(self.changed)

    def _passed(self, shown: set[str], silent: set[str], turn: int) -> None:
        """End the failures of which nothing is pending any more."""
        for name, (error, changes, ran, pending, printed) in [*self.failures.items()]:
            pending.difference_update(shown | silent if printed else shown)
            if not pending:
                del self.failures[name]
                if known := self.commands.get(error.text):
                    known.state, known.verifies = "passed", True
                files = tuple(dict.fromkeys(self.changed[changes:]))
                between = () if files else tuple(dict.fromkeys(self.passed[ran:]))[-_MOST_BETWEEN:]
                self.fixes.append(replace(error, turn=turn, files=files, between=between))

    def stretch(self, boundary: Event | None) -> Stretch:
        """Return what there is at the end."""
        found = list(self.requests)
        for state, text, turn in self.tasks.values():
            if state not in _DONE and text:
                found.append(Anchor(kind=AnchorKind.TASK, text=text, turn=turn, state=state))
        for path, file in self.files.items():
            kind = AnchorKind.READ if file.state == "read" else AnchorKind.FILE
            found.append(Anchor(kind=kind, text=path, turn=file.turn, state=file.state, times=file.times))
        last = {(fix.text, target_of(fix.command)): fix for fix in self.fixes}
        found += last.values()
        checks = {key: known for key, known in self.commands.items() if key.split()[0] not in _VERIFY_NOTHING}
        self.checks.update(*(_heads(key) for key, known in checks.items() if known.verifies))
        for key, known in self.commands.items():
            if key.split()[0] in _ONLY_LOOK:
                continue
            checked = known.verifies or (known.changes > 0 and _heads(key) <= self.checks)
            verifies = key in checks and checked
            one = Anchor(
                kind=AnchorKind.COMMAND,
                text=key,
                turn=known.turn,
                state=known.state,
                times=known.runs,
                command=known.text,
            )
            if verifies:
                found.append(one)
            if (failure := self.failures.get(known.target)) and (verifies or known.state == "failed"):
                found.append(replace(one, kind=AnchorKind.ERROR, detail=failure.error.detail))
        return Stretch(
            anchors=tuple(sorted(found, key=lambda anchor: anchor.turn)),
            frames=tuple(self.frames),
            boundary=boundary,
            used=self.used,
            again=frozenset(self.again),
        )


def stretches(events: Iterable[Event]) -> list[Stretch]:
    """Return what happened between compactions, the last stretch open; repeated records count once."""
    found: list[Stretch] = []
    fold = _Fold()
    seen: set[tuple[EventKind, str]] = set()
    for event in events:
        if event.kind in _ONCE and event.id:
            if (event.kind, event.id) in seen:
                continue
            seen.add((event.kind, event.id))
        if event.kind is EventKind.BOUNDARY:
            found.append(fold.stretch(event))
            fold = _Fold(fold)
        elif event.kind is EventKind.SUMMARY and found and not found[-1].summary:
            found[-1] = found[-1]._replace(summary=event.text)
        else:
            fold.take(event)
    return [*found, fold.stretch(None)]


def stretches_with(events: Sequence[Event], statements: Sequence[Anchor]) -> list[Stretch]:
    """Return the stretches between compactions with what a reader found in their turns."""
    found: list[Stretch] = []
    first = 0
    for part in stretches(events):
        last = part.boundary.turn if part.boundary else max((s.turn for s in statements), default=0)
        own = [statement for statement in statements if first < statement.turn <= last]
        anchors = sorted([*part.anchors, *own], key=lambda anchor: anchor.turn)
        found.append(part._replace(anchors=tuple(anchors)))
        first = last
    return found


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not re.fullmatch(r"Exit code \d+", line)]
    return (telling or lines or [""])[0][:160]
