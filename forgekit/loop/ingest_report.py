"""What one ingest did: of each conversation, of each batch, and of all batches together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from forgekit.ids import EntityId
from forgekit.loop.unpacking import Unpacked
from forgekit.model.conflict import Conflict
from forgekit.model.problem import Problem
from forgekit.store.store import Change, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Filed:
    """What became of one conversation.

    Attributes:
        turns: of the conversation; None where nobody knows.
        state: `new`, `joined` to one that was known by name, `grown` or `unchanged`.
        placed: what said its project, as of `Unpacked`.
        new_turns: of them those that this ingest brought.
        candidates: that are new and wait for review.
    """

    id: EntityId
    external_id: str | None
    title: str
    project_name: str
    turns: int | None
    state: str
    placed: str
    new_turns: int
    candidates: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestReport:
    """What one ingest did.

    Attributes:
        outcome: of all batches together; its commit is the last one.
        commits: one for each batch that brought anything.
        states: number of conversations by state.
        elsewhere: number of conversations that stay in another project than the person said, by that one.
        unplaced: number of new conversations of which nothing said the project.
        filed: of each conversation; of the first that changed where the report was to be short.
        archives: that are new.
        registered: decisions and threads that are new or changed.
        edges: lineage edges that are new.
        waiting: number of candidates that are new and wait for review.
        candidates: their ids; none where the report was to be short.
        redacted: number of secrets by rule.
        problems: what could not be read, and what is doubtful.
        contradictions: new conflicts of decisions.
    """

    outcome: Outcome
    commits: tuple[str, ...]
    states: Mapping[str, int]
    elsewhere: Mapping[str, int]
    unplaced: int
    filed: tuple[Filed, ...]
    archives: int
    registered: int
    edges: int
    waiting: int
    candidates: tuple[EntityId, ...]
    redacted: Mapping[str, int]
    problems: tuple[Problem, ...]
    contradictions: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided of one batch, for the report."""

    filed: tuple[Filed, ...]
    archives: int
    registered: int
    edges: int
    candidates: tuple[EntityId, ...]
    problems: tuple[Problem, ...]
    found: tuple[Conflict, ...]


@dataclass(slots=True)
class Sum:
    """The report as it grows, batch by batch.

    Args:
        project: what the person said, "" if nothing.
        shown: changed conversations to be named, beside counts of all; None names all of them, each file
            that was written and each candidate, which years of conversations make long.
    """

    project: str = ""
    shown: int | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    filed: list[Filed] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    candidates: list[EntityId] = field(default_factory=list)
    redacted: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    found: list[Conflict] = field(default_factory=list)

    def add(self, outcome: Outcome, batch: Iterable[Unpacked]) -> None:
        """Add what one batch did."""
        decided = outcome.change.result
        assert isinstance(decided, Decided)  # noqa: S101 - what the decision of a batch put there
        self.states.update(filed.state for filed in decided.filed)
        if self.project:
            known = (f.project_name for f in decided.filed if f.placed == "registry")
            self.elsewhere.update(name for name in known if name != self.project)
        self.counts["unplaced"] += sum(f.placed == "nothing" for f in decided.filed)
        self.counts["waiting"] += len(decided.candidates)
        outcome = replace(outcome, change=Change(subject=outcome.change.subject))
        if self.shown is None:
            self.filed += decided.filed
            self.candidates += decided.candidates
        else:
            changed = [filed for filed in decided.filed if filed.state != "unchanged"]
            self.filed += changed[: self.shown - len(self.filed)]
            if outcome.commit is not None:
                outcome = replace(outcome, written=(), deleted=())
        self.outcomes.append(outcome)
        for name in ("archives", "registered", "edges"):
            self.counts[name] += getattr(decided, name)
        self.problems += decided.problems
        self.found += decided.found
        for unpacked in batch:
            self.redacted.update(unpacked.redacted)

    def report(self) -> IngestReport:
        """Return the report of all batches so far."""
        commits = tuple(one.commit for one in self.outcomes if one.commit is not None)
        return IngestReport(
            outcome=Outcome(
                commit=commits[-1] if commits else None,
                written=tuple(dict.fromkeys(path for one in self.outcomes for path in one.written)),
                deleted=tuple(dict.fromkeys(path for one in self.outcomes for path in one.deleted)),
                diff="".join(one.diff for one in self.outcomes),
                change=Change(subject="ingest"),
            ),
            commits=commits,
            states=dict(self.states),
            elsewhere=dict(sorted(self.elsewhere.items())),
            unplaced=self.counts["unplaced"],
            filed=tuple(self.filed),
            archives=self.counts["archives"],
            registered=self.counts["registered"],
            edges=self.counts["edges"],
            waiting=self.counts["waiting"],
            candidates=tuple(self.candidates),
            redacted=dict(sorted(self.redacted.items())),
            problems=tuple(self.problems),
            contradictions=tuple(self.found),
        )
