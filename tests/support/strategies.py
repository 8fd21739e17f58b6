"""Hypothesis strategies for every kind of entity, and for files as people leave them."""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from typing import Any, cast

from hypothesis import strategies as st

from forgekit.ids import BASE as NAMESPACE
from forgekit.ids import EntityId, v8_named
from forgekit.model.entities import (
    CLASSES,
    Archive,
    Candidate,
    CandidateStatus,
    Compression,
    CompressionMode,
    Conflict,
    ConflictStatus,
    Convention,
    ConventionForm,
    ConventionOrigin,
    ConventionStatus,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Lineage,
    Note,
    Priority,
    Project,
    Proposal,
    Thread,
    ThreadStatus,
    Topic,
    TopicStatus,
    TranscriptPart,
    known_fields,
)
from forgekit.model.kinds import Kind
from forgekit.model.rules import MERGE_MARKER, one_line
from forgekit.text import codec
from forgekit.times import LAST, Instant

ODD = (
    *("no", "null", "~", "NULL", "yes", "1.10", "1e3", "0o17", "12:30:45", ".nan", "12e4567", "2026-02-30"),
    *(
        "a: b",
        "a:b",
        "x #y",
        "#x",
        "- a",
        "[x",
        "]",
        "{y}",
        "'",
        '"',
        "''",
        "&a",
        "*a",
        "!t",
        "!!int 3",
        "%TAG",
    ),
    *("@at", "`tick`", "|", ">", "?", "? k", ":", "=", "<<", "---", "...", " lead", "trail ", "a\\b", "a, b"),
    *(
        "Cafe\u0301",
        "Caf\u00e9",
        "\u202eright to left",
        "\U0001f600",
        "\u200b|",
        "a\u00a0b",
        "\u00ad",
        "[[link]]",
    ),
    *(
        "\ufffd",
        "\u3000wide\u3000",
        "ß",
        "İ",
        "2026-01-01",
        "2023-11-14T22:13:20Z",
        "0x1F",
        "1_000",
        "+1",
        "-",
    ),
)
WORDS = (
    "Use cursors",
    "Keep offset paging",
    "Ledger",
    "ids",
    "a",
    "T001",
    "auto-increment",
    "Plan B (short)",
)
CLOSE = st.integers(0, 40)


@functools.cache
def ids(most: int = 40) -> st.SearchStrategy[EntityId]:
    """A small pool, so that two entities often name the same id."""
    return st.integers(0, most).map(
        lambda n: v8_named(NAMESPACE, f"entity {n}", 1_700_000_000_000 + n * 86_400_000)
    )


@functools.cache
def instants() -> st.SearchStrategy[Instant]:
    near = CLOSE.map(lambda n: 1_700_000_000_000 + n * 3_600_000)
    return st.one_of(near, st.integers(0, LAST)).map(Instant)


@functools.cache
def lines() -> st.SearchStrategy[str]:
    """One line of printable text."""
    free = st.text(min_size=1, max_size=30).map(one_line).filter(lambda text: bool(text.strip()))
    plain = st.sampled_from(WORDS)
    return st.one_of(plain, st.sampled_from(ODD), free)


@functools.cache
def line_lists() -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(lines(), max_size=4, unique=True).map(tuple)


@functools.cache
def id_lists() -> st.SearchStrategy[tuple[EntityId, ...]]:
    return st.lists(ids(), max_size=4, unique=True).map(tuple)


@functools.cache
def blockers() -> st.SearchStrategy[tuple[str, ...]]:
    """Ids of threads, and words that stand for something else."""
    words = lines().filter(lambda line: not line.startswith("[[") and len(line) < 32)
    return st.lists(st.one_of(ids(), words), max_size=4, unique=True).map(lambda found: tuple(sorted(found)))


@functools.cache
def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


@functools.cache
def any_text() -> st.SearchStrategy[str]:
    """Text with anything that UTF-8 can hold."""
    odd = st.sampled_from(
        (*ODD, "", " ", "\n", "a\nb", "a\n\n", "\ta", "a\r\nb", "x\x85y", "\u2028", "\ufeff", "\x00")
    )
    return st.one_of(odd, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))


@functools.cache
def keys() -> st.SearchStrategy[str]:
    """Keys that no schema knows, those of other kinds included."""
    return st.one_of(
        st.sampled_from(
            (*ODD, "owner", "x-team", "aliases", "nature", "kept", "é", "1", "on", "a key", "extra", "body")
        ),
        st.sampled_from(("team", "due_date", "zeta", "alpha")),
    )


@functools.cache
def extras(kind: Kind) -> st.SearchStrategy[dict[str, object]]:
    """Unknown keys with nested values."""
    known = set(known_fields(kind))
    values = st.recursive(
        any_text(),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys(), inner, max_size=3)),
        max_leaves=6,
    )
    return st.dictionaries(keys().filter(lambda key: key not in known), values, max_size=3)


def fits_a_body(text: str) -> bool:
    return bool(text) and not MERGE_MARKER.search(text)


@functools.cache
def paragraphs() -> st.SearchStrategy[str]:
    """Body text without blank lines at its ends."""
    samples = (
        "Text.",
        "# Title",
        "    code",
        "```\n## not closed",
        "---",
        "a\n---\nb",
        "trail  ",
        "x\x85y\u2028z",
        "\ttab",
    )
    free = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=30)
    return st.one_of(st.sampled_from(samples), free).map(lambda text: text.strip("\n")).filter(fits_a_body)


@functools.cache
def bodies() -> st.SearchStrategy[str]:
    """Markdown with sections, some of them twice."""
    heading = st.sampled_from(
        ("## Rationale", "## Context", "## Resolution", "## C#", "##  Odd  ##", "## Notes")
    )
    piece = st.one_of(paragraphs(), heading, st.tuples(heading, paragraphs()).map("\n\n".join))
    return st.lists(piece, max_size=5).map("\n\n".join)


@functools.cache
def pairs() -> st.SearchStrategy[tuple[tuple[str, EntityId], ...]]:
    """(local id or "", id) pairs, each key once."""
    local = st.one_of(st.just(""), st.sampled_from(("D001", "D002", "T001", "T014", "no", "1")))
    return st.lists(
        st.tuples(local, ids()), max_size=4, unique_by=(lambda pair: pair[0] or pair[1], lambda pair: pair[1])
    ).map(tuple)


@functools.cache
def turns() -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda t: (t[0], t[0] + t[1]))


@functools.cache
def tiers() -> st.SearchStrategy[float]:
    return st.one_of(st.sampled_from((0.0, 1.0, 0.5, 1e-7)), st.floats(0, 1))


@functools.cache
def projects() -> st.SearchStrategy[Project]:
    return st.builds(
        Project,
        project_uuid=ids(),
        project_name=lines(),
        tags=line_lists(),
        extra=extras(Kind.PROJECT),
        body=bodies(),
    )


@functools.cache
def conversations() -> st.SearchStrategy[Conversation]:
    return st.builds(
        Conversation,
        conversation_id=ids(),
        title=lines(),
        project_name=lines(),
        project_uuid=ids(),
        created_at=instants(),
        external_id=maybe(lines()),
        session_id=maybe(lines()),
        source=maybe(lines()),
        turns=maybe(st.integers(0, 500)),
        continues=line_lists(),
        brought=line_lists(),
        archived_as=line_lists(),
        essence=maybe(lines()),
        essence_of=st.sampled_from((None, "0" * 16, "12e4567812e45678")),
        essence_by=maybe(lines()),
        tags=line_lists(),
        extra=extras(Kind.CONVERSATION),
        body=bodies(),
    )


@functools.cache
@st.composite
def threads(draw: st.DrawFn) -> Thread:
    status = draw(st.sampled_from(ThreadStatus))
    return Thread(
        thread_id=draw(ids()),
        title=draw(lines()),
        status=status,
        priority=draw(st.sampled_from(Priority)),
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        local_id=draw(maybe(lines())),
        blocked_by=draw(blockers()),
        first_seen_in=draw(maybe(ids())),
        resolved_in=draw(maybe(ids())) if status.ended else None,
        conversation_ids=draw(id_lists()),
        created_at=draw(instants()),
        updated_at=draw(instants()),
        tags=draw(line_lists()),
        extra=draw(extras(Kind.THREAD)),
        body=draw(bodies()),
    )


@functools.cache
@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    status = draw(st.sampled_from(DecisionStatus))
    replaced = status in (DecisionStatus.REVISED, DecisionStatus.SUPERSEDED)
    identity = draw(ids())
    return Decision(
        decision_id=identity,
        decision=draw(lines()),
        status=status,
        epistemic_tier=draw(maybe(tiers())),
        tier_token=draw(maybe(st.sampled_from(("1", "2", "3")))),
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        local_id=draw(maybe(lines())),
        originated_in=draw(maybe(ids())),
        revised_in=draw(maybe(ids())) if status is DecisionStatus.REVISED else None,
        superseded_by=draw(maybe(ids().filter(lambda other: other != identity))) if replaced else None,
        conversation_ids=draw(id_lists()),
        dependencies=draw(id_lists()),
        alternatives_rejected=draw(line_lists()),
        governs=draw(line_lists()),
        created_at=draw(instants()),
        last_validated=draw(instants()),
        tags=draw(line_lists()),
        extra=draw(extras(Kind.DECISION)),
        body=draw(bodies()),
    )


@functools.cache
def compressions() -> st.SearchStrategy[Compression]:
    return st.builds(
        Compression,
        compression_tag=st.one_of(st.sampled_from(("A_B_C", "TOPIC_DONE")), lines()),
        compression_mode=maybe(st.sampled_from(CompressionMode)),
        compressed_at=maybe(instants()),
        turn_range=maybe(turns()),
        decisions_carried=pairs(),
        decisions_dropped=pairs(),
        threads_carried=pairs(),
        threads_resolved=pairs(),
    )


@functools.cache
@st.composite
def edges(draw: st.DrawFn) -> Lineage:
    source, target = draw(st.lists(ids(), min_size=2, max_size=2, unique=True))
    return Lineage(
        lineage_id=draw(ids()),
        source_conversation_id=source,
        target_conversation_id=target,
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        compressions=tuple(
            draw(st.lists(compressions(), max_size=3, unique_by=lambda entry: entry.compression_tag))
        ),
        extra=draw(extras(Kind.LINEAGE)),
        body=draw(bodies()),
    )


@functools.cache
@st.composite
def conflicts(draw: st.DrawFn) -> Conflict:
    status = draw(st.sampled_from(ConflictStatus))
    smaller, greater = sorted(draw(st.lists(ids(), min_size=2, max_size=2, unique=True)))
    return Conflict(
        conflict_id=draw(ids()),
        decision_a=smaller,
        decision_b=greater,
        status=status,
        nature=draw(lines()),
        similarity=draw(maybe(tiers())),
        evidence=draw(line_lists()),
        detected_at=draw(instants()),
        kept=draw(maybe(st.sampled_from((smaller, greater)))) if status is ConflictStatus.RESOLVED else None,
        reason=draw(maybe(lines())),
        extra=draw(extras(Kind.CONFLICT)),
        body=draw(bodies()),
    )


@functools.cache
@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    status = draw(st.sampled_from(CandidateStatus))
    answered = status in (CandidateStatus.APPROVED, CandidateStatus.MERGED)
    return Candidate(
        candidate_id=draw(ids()),
        candidate=draw(lines()),
        status=status,
        proposes=draw(st.sampled_from(Proposal)),
        confidence=draw(tiers()),
        why=draw(lines()),
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        conversation_id=draw(ids()),
        turn=draw(st.integers(0, 500)),
        local_id=draw(maybe(lines())),
        epistemic_tier=draw(maybe(tiers())),
        dependencies=draw(id_lists()),
        alternatives_rejected=draw(line_lists()),
        governs=draw(line_lists()),
        priority=draw(maybe(st.sampled_from(Priority))),
        created_at=draw(instants()),
        became=draw(maybe(ids())) if answered else None,
        extra=draw(extras(Kind.CANDIDATE)),
        body=draw(bodies()),
    )


@functools.cache
def notes() -> st.SearchStrategy[Note]:
    return st.builds(
        Note,
        note_id=ids(),
        title=lines(),
        project_name=lines(),
        project_uuid=ids(),
        source=maybe(lines()),
        source_hash=st.sampled_from((None, "0" * 16)),
        source_folders=st.sampled_from(((), ("0" * 16,), ("0" * 16, "12e4567812e45678"))),
        concepts=line_lists(),
        essence=maybe(lines()),
        essence_of=st.sampled_from((None, "0" * 16, "12e4567812e45678")),
        essence_by=maybe(lines()),
        created_at=instants(),
        updated_at=instants(),
        tags=line_lists(),
        extra=extras(Kind.NOTE),
        body=bodies(),
    )


@functools.cache
@st.composite
def topics(draw: st.DrawFn) -> Topic:
    status = draw(st.sampled_from(TopicStatus))
    return Topic(
        topic_id=draw(ids()),
        title=draw(lines()),
        status=status,
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        note_ids=draw(id_lists()),
        merged_into=draw(ids()) if status is TopicStatus.MERGED else None,
        digest=draw(maybe(lines())),
        digest_of=draw(st.sampled_from((None, "0" * 16))),
        digest_by=draw(maybe(lines())),
        created_at=draw(instants()),
        updated_at=draw(instants()),
        extra=draw(extras(Kind.TOPIC)),
        body=draw(bodies()),
    )


@functools.cache
@st.composite
def conventions(draw: st.DrawFn) -> Convention:
    status = draw(st.sampled_from(ConventionStatus))
    return Convention(
        convention_id=draw(ids()),
        convention=draw(lines()),
        form=draw(st.sampled_from(ConventionForm)),
        status=status,
        origin=draw(st.sampled_from(ConventionOrigin)),
        confidence=draw(tiers()),
        project_name=draw(lines()),
        project_uuid=draw(ids()),
        scope=draw(line_lists()),
        evidence=draw(line_lists()),
        sessions_seen=draw(id_lists()),
        cited_in=draw(id_lists()),
        superseded_by=draw(ids()) if status is ConventionStatus.REVISED else None,
        answered_at=draw(maybe(instants())),
        created_at=draw(instants()),
        tags=draw(line_lists()),
        extra=draw(extras(Kind.CONVENTION)),
        body=draw(bodies()),
    )


@functools.cache
def kept_texts() -> st.SearchStrategy[TranscriptPart]:
    return st.builds(
        TranscriptPart,
        transcript_id=ids(),
        title=lines(),
        conversation_id=ids(),
        project_name=lines(),
        project_uuid=ids(),
        turn_range=turns(),
        created_at=instants(),
        extra=extras(Kind.TRANSCRIPT),
        body=bodies(),
    )


@functools.cache
def archives() -> st.SearchStrategy[Archive]:
    verbatim = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
    samples = st.sampled_from(
        ("", "\n", "\r\n", "a\r\nb\r\n", "\n\n---\nx", "---\n", "\ufeffBOM", "<<<<<<< x\n", "a\rb", " ")
    )
    return st.builds(
        Archive,
        archive_id=ids(),
        compression_tag=lines(),
        compression_mode=st.sampled_from(CompressionMode),
        compressed_at=instants(),
        conversation_id=ids(),
        conversation_title=lines(),
        project_name=lines(),
        project_uuid=ids(),
        conversation_started=instants(),
        session_id=maybe(lines()),
        external_id=maybe(lines()),
        turn_range=maybe(turns()),
        inherits_from=line_lists(),
        content_sha256=st.sampled_from(("0" * 64, "12e4567" + "1" * 57, "ab" * 32)),
        records=pairs(),
        extra=extras(Kind.ARCHIVE),
        body=st.one_of(samples, verbatim),
    )


@functools.cache
def entities() -> st.SearchStrategy[Entity]:
    """Any entity of any kind."""
    return st.one_of(*_OF_KIND.values())


_OF_KIND: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.PROJECT: projects(),
    Kind.CONVERSATION: conversations(),
    Kind.THREAD: threads(),
    Kind.DECISION: decisions(),
    Kind.LINEAGE: edges(),
    Kind.CONFLICT: conflicts(),
    Kind.CANDIDATE: candidates(),
    Kind.NOTE: notes(),
    Kind.TOPIC: topics(),
    Kind.CONVENTION: conventions(),
    Kind.TRANSCRIPT: kept_texts(),
    Kind.ARCHIVE: archives(),
}


def of_kind(kind: Kind) -> st.SearchStrategy[Entity]:
    return _OF_KIND[kind]


@functools.cache
def states(kind: Kind, count: int) -> st.SearchStrategy[list[Entity]]:
    """Several states of one entity that differ in few places, as edits do."""

    @st.composite
    def draw_states(draw: st.DrawFn) -> list[Entity]:
        first = draw(of_kind(kind))
        out = [first]
        for _ in range(count - 1):
            other = draw(of_kind(kind))
            names = [f.name for f in dataclasses.fields(CLASSES[kind]) if f.name != kind.id_field]
            chosen = draw(st.lists(st.sampled_from(names), max_size=5))
            out.append(mixed(first, other, chosen))
        return out

    return draw_states()


TOGETHER = (
    (
        "status",
        "updated_at",
        "resolved_in",
        "superseded_by",
        "revised_in",
        "kept",
        "reason",
        "became",
        "merged_into",
        "decision_a",
        "decision_b",
        "answered_at",
        "origin",
        "confidence",
    ),
    ("source_conversation_id", "target_conversation_id"),
    ("content_sha256", "body"),
    ("concepts", "essence", "essence_of", "essence_by"),
    ("digest", "digest_of", "digest_by"),
)


def mixed(entity: Entity, other: Entity, names: list[str]) -> Entity:
    """Take some fields from another entity; those that only stand together, together."""
    wanted = set(names)
    for group in TOGETHER:
        if wanted & set(group) and (entity.kind is Kind.ARCHIVE or "content_sha256" not in group):
            wanted |= {name for name in group if hasattr(entity, name)}
    values = {name: getattr(other, name) for name in wanted}
    if values.get("superseded_by") == entity.id:
        values["superseded_by"] = None
    return cast(Entity, dataclasses.replace(cast(Any, entity), **values))


@dataclasses.dataclass(frozen=True)
class Edited:
    """A file as a person left it, and its front matter in pieces: (key, or "" for comments; lines)."""

    text: str
    pieces: tuple[tuple[str, str], ...]


@st.composite
def hand_edited(draw: st.DrawFn, entity: Entity) -> Edited:
    """Write an entity as a person's editor may leave it: order, comments, blanks, quotes, line ends, BOM."""
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311 - one seed per file keeps examples small
    fields = list(codec.field_texts(entity).items())
    chance.shuffle(fields)
    pieces: list[tuple[str, str]] = []
    for key, text in fields:
        pieces += [
            ("", chance.choice(("", "", "\n", "# note\n", "  # indented\n\n"))),
            (key, _retyped(text, chance)),
        ]
    pieces.append(("", chance.choice(("", "# last\n"))))
    text = codec.dumps(dataclasses.replace(cast(Any, entity), extra={}))
    tail = text[text.index("\n---\n", 3) + 1 :]
    if not isinstance(entity, Archive):
        tail = tail.rstrip("\n") + "\n" * chance.choice((0, 1, 1, 3)) if entity.body else tail
        if chance.random() < 0.3:
            pieces = [(key, text.replace("\n", "\r\n")) for key, text in pieces]
            tail = tail.replace("\n", "\r\n")
    opening = chance.choice(("", "", "\ufeff")) + ("---\r\n" if tail.startswith("---\r\n") else "---\n")
    return Edited(opening + "".join(text for _, text in pieces) + tail, tuple(pieces))


def _retyped(text: str, chance: random.Random) -> str:
    """Put a comment beside a one-line field, or write a list of plain words as a block."""
    if text.count("\n") > 1 or re.search(r"""["'{}#\\\x85\u2028]""", text):
        return text
    key, _, items = text.partition(": [")
    if items.endswith("]\n") and ", " in items and "[" not in items and chance.random() < 0.5:
        return f"{key}: # listed\n" + "".join(f"- {item}\n" for item in items[:-2].split(", "))
    return text[:-1] + chance.choice(("", "", "  # why", " ", "\t# tab", " # a: b [c]")) + "\n"
