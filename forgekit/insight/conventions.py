"""The life of a convention, computed from facts: what was observed, answered, and cited in which session.

    observed    until 3 observations in 2 sessions
    ready       then, for a person to approve or reject; what files state is ready at once
    active      approved by a person, or stated outright by one
    decayed     active, and 5 sessions of the project in a row neither stated nor cited it

Facts are sets: neither their order nor their repetition changes a stage. Being injected is no fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from forgekit.conflict.judge import Statement
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, convention_id
from forgekit.model.entities import (
    Convention,
    ConventionForm,
    ConventionOrigin,
    ConventionStatus,
    Conversation,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.transcript import Correction, Turn
from forgekit.text.shell import without_documents
from forgekit.text.words import STOP_WORDS, changed_parts
from forgekit.times import Instant

OBSERVATIONS, SESSIONS = 3, 2
"""From which on an observed convention is ready for review."""
EXPLICIT = 0.8
"""Probability of a standing instruction from which on it counts as stated outright."""
UNUSED = 5
"""Sessions in a row without a use after which an active convention is decayed."""
MOST = 50
"""Active conventions of a project that are injected."""
CONFIDENCE = {ConventionOrigin.EXPLICIT: 1.0, ConventionOrigin.BOOTSTRAP: 0.6, ConventionOrigin.OBSERVED: 0.3}
"""Of what nobody approved yet; what states itself in two files has more."""
APPROVED, GROWTH = 0.7, 0.05
"""Confidence after an approval, and what each session that cites it adds."""
TOKENS, ANTI_PATTERN_TOKENS = 1_000, 200
"""Room for what is injected, and for the anti-patterns in it."""
RULE_FILE = 3
"""Files of evidence below one folder of two levels from which on a convention goes to that folder's rules."""

_SHORT = re.compile(r"\bcnv_[0-9a-f]{12}\b")
_CODE = re.compile(r"`([^`]{1,200})`")
_WORD = re.compile(r"[\w.-]{2,}")
_PARTS = re.compile(r"[;|&\n]+")
_QUOTED = re.compile(r"""'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)""", re.DOTALL)
"""Of a command line, what a program reads: no command, whatever it begins with."""
_NAME = re.compile(r"[^\W\d][\w.]{1,99}")
_NAMES = re.compile(r"[\w.]+|[^\w.]")


class Stage(Enum):
    """The stage of a convention's life."""

    OBSERVED = "observed"
    READY = "ready"
    ACTIVE = "active"
    DECAYED = "decayed"
    REJECTED = "rejected"
    RETIRED = "retired"
    REVISED = "revised"


@frozen(kw_only=True)
class Life:
    """The stage of a convention, and why.

    Attributes:
        observations: of it and of the proposals that say the same.
        sessions: in which those were made.
        uses: sessions that cited it.
        unused: sessions of the project since the last use; 0 where it is not active.
        confidence: with what the uses added.
        stated: when it was stated or approved last.
        same: conventions that say the same.
    """

    convention: Convention
    stage: Stage
    observations: int
    sessions: int
    uses: int
    unused: int
    confidence: float
    stated: Instant
    same: tuple[EntityId, ...] = ()


Same = Mapping[EntityId, Collection[EntityId]]
"""The conventions that say the same as each, as the judge reads them."""


def lives(
    conventions: Iterable[Convention], conversations: Iterable[Conversation], same: Same | None = None
) -> dict[EntityId, Life]:
    """Return the life of each convention.

    Args:
        conventions: of any projects.
        conversations: of those projects.
    """
    known = {each.id: each for each in conventions}
    session_of, starts = _sessions(conversations)
    by_project: dict[EntityId, list[tuple[int, EntityId]]] = {}
    for project, start in starts.values():
        by_project.setdefault(project, []).append(start)
    found = {}
    for key, each in known.items():
        alike = [known[other] for other in sorted((same or {}).get(key, ())) if other in known]
        group = [each, *(one for one in alike if one.status is ConventionStatus.PROPOSED)]
        seen = {session_of.get(c, c) for one in group for c in one.sessions_seen}
        cited = {session_of.get(c, c) for c in each.cited_in}
        observed = len({line for one in group for line in one.evidence})
        own = {session_of.get(c, c) for c in each.sessions_seen}
        stated_at = [starts[s][1][0] for s in own if s in starts]
        unused = 0
        if each.status is ConventionStatus.ACTIVE:
            uses = [starts[s][1] for s in own | cited if s in starts]
            last = max([*uses, (each.answered_at or 0, EntityId("~"))])
            # Nobody can say which sessions followed a use without a date.
            unused = sum(start > last for start in by_project.get(each.project_uuid, ())) if last[0] else 0
        found[key] = Life(
            convention=each,
            stage=_stage(each, alike, observed, len(seen), unused),
            observations=observed,
            sessions=len(seen),
            uses=len(cited),
            unused=unused,
            confidence=min(1.0, round(each.confidence + GROWTH * len(cited), 2)),
            stated=Instant(max([each.created_at, each.answered_at or 0, *stated_at])),
            same=tuple(one.id for one in alike),
        )
    return found


def _stage(each: Convention, alike: list[Convention], observed: int, sessions: int, unused: int) -> Stage:
    if each.status is ConventionStatus.ACTIVE:
        return Stage.DECAYED if unused >= UNUSED else Stage.ACTIVE
    if each.status is not ConventionStatus.PROPOSED:
        return Stage(each.status.value)
    # What repeats one that a person answered, or as a proposal that is offered, is not offered too.
    answered = any(one.status is not ConventionStatus.PROPOSED for one in alike)
    enough = each.origin is ConventionOrigin.BOOTSTRAP or (observed >= OBSERVATIONS and sessions >= SESSIONS)
    first = min([each, *alike], key=lambda one: (-len(one.evidence), one.id))
    return Stage.READY if enough and not answered and first is each else Stage.OBSERVED


def _sessions(
    conversations: Iterable[Conversation],
) -> tuple[dict[EntityId, EntityId], dict[EntityId, tuple[EntityId, tuple[int, EntityId]]]]:
    """Return the session of each conversation that was read, and the project and start of each session.

    Conversations with one session id are one session, and so are those of which one resumes the other.
    """
    read = sorted((c for c in conversations if c.source is not None), key=lambda c: (c.created_at, c.id))
    named = {name: c.id for c in reversed(read) for name in (c.external_id, c.session_id) if name}
    parent = {c.id: c.id for c in read}

    def root(key: EntityId) -> EntityId:
        while parent[key] != key:
            key = parent[key]
        return key

    order = {c.id: (c.created_at, c.id) for c in read}
    for each in read:
        for name in (each.external_id, each.session_id, *each.continues):
            if name in named:
                first, second = sorted((root(each.id), root(named[name])), key=lambda key: order[key])
                parent[second] = first
    projects = {c.id: c.project_uuid for c in read}
    session_of = {key: root(key) for key in parent}
    return session_of, {key: (projects[key], order[key]) for key in set(session_of.values())}


def joined(known: Convention, more: Convention) -> Convention:
    """Return a convention with the observations and citations of another record of it."""
    return replace(
        known,
        evidence=tuple(sorted({*known.evidence, *more.evidence})),
        sessions_seen=tuple(sorted({*known.sessions_seen, *more.sessions_seen})),
        cited_in=tuple(sorted({*known.cited_in, *more.cited_in})),
        created_at=min(known.created_at, more.created_at),
    )


def correction(change: Correction) -> str | None:
    """Return what a correction asks for where it puts one name in another one's place, else None."""
    if change.is_command:
        old, new = changed_parts(change.before.split(), change.after.split())
        return f"Run `{' '.join(new)}`, not `{' '.join(old)}`"
    old, new = (_NAMES.findall(text) for text in change[:2])
    names = changed_parts(old, new) if "\n" not in change.before + change.after else ([], [])
    if not all(len(each) == 1 and _NAME.fullmatch(each[0]) for each in names):
        return None
    return f"Write `{names[1][0]}`, not `{names[0][0]}`"


def observed(
    conversation: Conversation,
    text: str,
    sure: float,
    turn: int,
    at: Instant,
    corrects: int | None = None,
    form: ConventionForm = ConventionForm.CONVENTION,
) -> Convention:
    """Return what a conversation asks for or shows: active where a person states it outright, else proposed.

    Args:
        text: one line, in the person's words.
        sure: how likely it is a standing instruction, 0 to 1.
        corrects: the turn that it corrects.
    """
    place = f"{short_id(Kind.CONVERSATION, conversation.id)} turn {turn}"
    explicit = sure >= EXPLICIT
    origin = ConventionOrigin.EXPLICIT if explicit else ConventionOrigin.OBSERVED
    return Convention(
        convention_id=convention_id(conversation.project_uuid, text),
        convention=text,
        form=form,
        status=ConventionStatus.ACTIVE if explicit else ConventionStatus.PROPOSED,
        origin=origin,
        confidence=CONFIDENCE[origin],
        project_name=conversation.project_name,
        project_uuid=conversation.project_uuid,
        evidence=(place if corrects is None else f"{place} corrects turn {corrects}",),
        sessions_seen=(conversation.id,),
        created_at=at,
    )


def stated(known: Mapping[EntityId, Convention], new: Convention) -> Convention:
    """Return what a further observation makes of a convention; a person's answer is kept.

    Args:
        new: the observation; of a text that was revised, its successor takes it.
    """
    old, passed = known.get(new.id), {new.id}
    while old is not None and old.superseded_by is not None and old.superseded_by not in passed:
        passed.add(old.superseded_by)
        old = known.get(old.superseded_by, old)
    if old is None:
        return new
    more = joined(old, new)
    if old.status is ConventionStatus.PROPOSED and new.status is ConventionStatus.ACTIVE:
        return replace(more, status=new.status, origin=new.origin, confidence=new.confidence)
    return more


class Mentions(NamedTuple):
    """What shows which conventions a session used: short ids in its texts, calls of tools, corrections."""

    mentions: frozenset[str]
    calls: frozenset[str]
    corrections: frozenset[Correction] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str], turns: Collection[Turn]) -> Mentions:
        """Return it of texts, and of turns with command lines, paths and corrections."""
        return cls(
            frozenset(name for text in texts for name in _SHORT.findall(text)),
            frozenset(call for turn in turns for call in turn.calls),
            frozenset(each for turn in turns for each in turn.corrections),
        )

    def uses(self, convention: Convention) -> bool:
        """Say whether a text names a convention, or a correction or call follows what its text names.

        That is code between backquotes, which a command begins with or a path ends with, or the name of a
        program; a correction puts code in, or takes that of an anti-pattern out. A call that follows an
        anti-pattern leaves nothing to see.
        """
        if short_id(Kind.CONVENTION, convention.id) in self.mentions:
            return True
        text = convention.convention
        anti = convention.form is ConventionForm.ANTI_PATTERN
        spans = _CODE.findall(text)
        for before, after, *_ in self.corrections:
            gone, put = (after, before) if anti else (before, after)
            if any(_holds(put, span) and not _holds(gone, span) for span in spans):
                return True
        if anti:
            return False
        code = [span.split() for span in spans]
        words = {*_WORD.findall(_CODE.sub(" ", text))} - STOP_WORDS
        for call in self.calls:
            for part in _PARTS.split(_QUOTED.sub("", without_documents(call))):
                given = part.split()
                if given and (given[0] in words or any(given[: len(s)] == s for s in code)):
                    return True
                if any(len(s) == 1 and f"/{part}".endswith(f"/{s[0]}") for s in code):
                    return True
        return False


def _holds(text: str, code: str) -> bool:
    """Say whether a text holds some code as whole words."""
    return code in text and re.search(rf"(?<!\w){re.escape(code)}(?!\w)", text) is not None


def injected(found: Iterable[Life]) -> tuple[list[Life], list[Life]]:
    """Return the active conventions that are injected, the surest and most used first, and those left out."""
    active = sorted(
        (life for life in found if life.stage is Stage.ACTIVE),
        key=lambda life: (-life.confidence, -life.uses, life.convention.id),
    )
    return active[:MOST], active[MOST:]


def compared(conventions: Iterable[Convention]) -> dict[EntityId, Statement]:
    """Return the texts that are judged with each other: of conventions that are not out of force."""
    gone = {ConventionStatus.REVISED, ConventionStatus.RETIRED}
    return {each.id: Statement(text=each.convention) for each in conventions if each.status not in gone}


def scopes_overlap(one: Convention, other: Convention) -> bool:
    """Say whether two conventions may apply to one file, by their scopes."""
    return not (one.scope and other.scope) or not set(one.scope).isdisjoint(other.scope)


def contradicted(
    found: Iterable[Life], against: Mapping[EntityId, Collection[EntityId]]
) -> dict[EntityId, Life]:
    """Return the conventions that are contradicted by one stated later, which stays.

    Args:
        found: that are in force.
        against: what contradicts each.
    """
    stay: list[Convention] = []
    gone = {}
    for life in sorted(found, key=lambda life: (life.stated, life.convention.id), reverse=True):
        own = life.convention
        if any(other.id in against.get(own.id, ()) and scopes_overlap(own, other) for other in stay):
            gone[own.id] = life
        else:
            stay.append(own)
    return gone


def within(lives: Iterable[Life], line: Callable[[Life], str], frame: str) -> tuple[list[Life], list[Life]]:
    """Return the conventions that there is room for, in their order, and the others.

    Args:
        lives: the most important first.
        frame: what is written beside them.
    """
    found = list(lives)
    left, kept = TOKENS - tokens(frame), set()
    for form, most in (
        (ConventionForm.ANTI_PATTERN, ANTI_PATTERN_TOKENS),
        (ConventionForm.CONVENTION, TOKENS),
    ):
        room = min(left, most)
        for life in found:
            cost = tokens(line(life) + "\n")
            if life.convention.form is form and cost <= room:
                kept.add(life.convention.id)
                room, left = room - cost, left - cost
    return [x for x in found if x.convention.id in kept], [x for x in found if x.convention.id not in kept]


def tokens(text: str) -> int:
    """Estimate the tokens of a text: a third of its characters, which holds for wide scripts too."""
    return -(-len(text) // 3)
