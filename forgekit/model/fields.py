"""FIELDS: the front matter of every kind, and how a value of each type is read, written, merged and shown.

A reader takes what a strict YAML parser returns: text, and lists and maps of text. A writer returns the
same. Readers raise ValueError with a message that follows the field's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId, parse_id
from forgekit.model.decision import DecisionStatus
from forgekit.model.entities import (
    CandidateStatus,
    Compression,
    CompressionMode,
    ConflictStatus,
    Proposal,
    TurnRange,
)
from forgekit.model.kinds import Kind
from forgekit.model.rules import MOST_TURNS
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.times import UNKNOWN, Instant, format_instant, parse_instant

_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[0-9]{1,8}")


class Plain(str):
    """The text of a number, a date or a name, written without quotes."""

    __slots__ = ()


class Null(str):
    """The plain scalar `null` or `~`: an unset field, where the same word in quotes is text."""

    __slots__ = ()


class Merge(Enum):
    """How two changes of one field are merged."""

    CHOOSE = "choose"  # a person chooses
    EARLIER = "earlier"  # the earlier time; a known one over an unknown one
    LATER = "later"  # the later time
    GREATER = "greater"  # the greater number; any over none
    SET = "set"  # union of two sets, sorted
    LIST = "list"  # union of two lists, in their order
    PAIRS = "pairs"  # map from local id to id, key by key
    ENTRIES = "entries"  # compressions by tag, each field by field


@dataclass(frozen=True, slots=True)
class FieldType:
    """How the values of a field are handled.

    Attributes:
        json: returns a value that is not None as JSON.
        merge: the rule for a field that names none.
        searched: whether full-text search finds its words.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = str
    json: Callable[[Any], Any] = lambda value: value
    merge: Merge = Merge.CHOOSE
    searched: bool = False


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be one line of text")
    return value


def _read_id(value: Any) -> EntityId:
    # A person's vault may hold ids as links: [[018b...]].
    return parse_id(_read_text(value).removeprefix("[[").removesuffix("]]"))


def _read_number(value: Any) -> float:
    # Python also takes `0_5`, `nan` and the digits of every script; other readers of the file do not.
    text = _read_text(value)
    number = float(text) if _DECIMAL.fullmatch(text) else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text[:60]!r} is not a number")
    return number


def _read_count(value: Any) -> int:
    if not _WHOLE.fullmatch(_read_text(value)) or int(value) > MOST_TURNS:
        raise ValueError("must be a whole number, such as 35")
    return int(value)


def _read_turns(value: Any) -> TurnRange:
    if isinstance(value, list) and len(value) == 2 and all(_WHOLE.fullmatch(str(v)) for v in value):
        first, last = int(value[0]), int(value[1])
        if first <= last <= MOST_TURNS:
            return first, last
    raise ValueError("must be two turn numbers, such as [1, 35]")


def _read_pairs(value: Any) -> tuple[tuple[str, EntityId], ...]:
    """Read a map from local id to id; an entity without a local id is under its own id."""
    if value == "":
        return ()
    if not isinstance(value, dict):
        raise ValueError("must be a map of local ids to ids")
    pairs = ((name, _read_id(entity)) for name, entity in value.items())
    return tuple(("" if name == entity else name, entity) for name, entity in pairs)


def _pairs_as_map(pairs: tuple[tuple[str, EntityId], ...]) -> dict[str, str]:
    return {local or entity: entity for local, entity in pairs}


def _list_of(read: Callable[[Any], Any], merge: Merge, *, searched: bool = False) -> FieldType:
    def read_list(value: Any) -> tuple[Any, ...]:
        if value == "":
            return ()
        if not isinstance(value, list):
            raise ValueError("must be a list, such as [a, b]")
        return tuple(read(item) for item in value)

    return FieldType(read_list, list, list, merge, searched)


def one_of(enum: type[Enum]) -> FieldType:
    """Return the type of fields that hold a member of an enum."""
    names = [member.value for member in enum]

    def read(value: Any) -> Enum:
        if value not in names:
            raise ValueError(f"{str(value)[:60]!r} is none of {', '.join(names)}")
        return enum(value)

    return FieldType(read, lambda member: str(member.value), lambda member: member.value)


def _instant_json(moment: Instant) -> str | None:
    return None if moment == UNKNOWN else format_instant(moment)


TEXT = FieldType(_read_text, searched=True)
CODE = FieldType(_read_text, Plain)
ID = FieldType(_read_id)
NUMBER = FieldType(_read_number, lambda number: Plain(repr(float(number))))
COUNT = FieldType(_read_count, lambda number: Plain(str(number)))
INSTANT = FieldType(
    lambda value: parse_instant(_read_text(value)),
    lambda moment: Plain(format_instant(moment)),
    _instant_json,
)
TURNS = FieldType(_read_turns, lambda turns: [Plain(str(turn)) for turn in turns], list)
LINES = _list_of(_read_text, Merge.LIST, searched=True)
IDS = _list_of(_read_id, Merge.SET)
PAIRS = FieldType(_read_pairs, _pairs_as_map, _pairs_as_map, Merge.PAIRS)


@dataclass(frozen=True, slots=True)
class Field:
    """One front-matter key.

    Attributes:
        name: the key, and the attribute of the dataclass.
        required: whether a file without it is refused.
        unset: the value that is not written, beside None and an empty list.
        merge: the rule for two changes; None for the one of its type.
        together: the group of fields that are merged as one, "" for a field that is merged alone.
        refers: the kinds whose ids it holds. Ids of decisions and threads may change when an archive is
            filed, and the field is then renamed with them.
        column: whether the catalogue has a column of this name.
        csv: whether the CSV export has a column of this name.
        entry: the fields of each entry, for a list of entries.
    """

    name: str
    type: FieldType
    required: bool = False
    unset: object = None
    merge: Merge | None = None
    together: str = ""
    refers: tuple[Kind, ...] = ()
    column: bool = False
    csv: bool = False
    entry: tuple[Field, ...] = ()

    @property
    def rule(self) -> Merge:
        """How two changes of this field are merged."""
        return self.merge or self.type.merge


_DECISION = (Kind.DECISION,)
_THREAD = (Kind.THREAD,)
_CONVERSATION = (Kind.CONVERSATION,)
_RECORD = (Kind.DECISION, Kind.THREAD)

_PROJECT = (
    Field("project_name", TEXT, required=True, together="project", column=True, csv=True),
    Field("project_uuid", ID, required=True, together="project", refers=(Kind.PROJECT,), column=True),
)
COMPRESSION = (
    Field("compression_tag", TEXT, required=True),
    Field("compression_mode", one_of(CompressionMode)),
    Field("compressed_at", INSTANT),
    Field("turn_range", TURNS),
    Field("decisions_carried", PAIRS, refers=_DECISION),
    Field("decisions_dropped", PAIRS, refers=_DECISION),
    Field("threads_carried", PAIRS, refers=_THREAD),
    Field("threads_resolved", PAIRS, refers=_THREAD),
)


def read_fields(fields: tuple[Field, ...], raw: dict[str, Any], lines: Mapping[str, int]) -> dict[str, Any]:
    """Convert the known fields and remove them from `raw`; what is left there is unknown.

    Args:
        fields: of the kind.
        raw: text, lists and maps of text.
        lines: the 1-based line of each key, for messages; may be empty.

    Raises FormatError.
    """
    values: dict[str, Any] = {}
    for field in fields:
        value = raw.pop(field.name, None)
        if value is None or value == "" or isinstance(value, Null):
            if field.required:
                line = lines.get(field.name, 1 if lines else None)
                raise FormatError("is missing", field=field.name, line=line)
            continue
        try:
            values[field.name] = field.type.read(value)
        except ValueError as e:
            raise FormatError(str(e), field=field.name, line=lines.get(field.name)) from None
    return values


def write_fields(fields: tuple[Field, ...], entity: object) -> dict[str, Any]:
    """Return the fields that are set, as text, lists and maps of text."""
    values = ((field, getattr(entity, field.name)) for field in fields)
    return {
        field.name: field.type.write(value)
        for field, value in values
        if value is not None and value not in ((), field.unset)
    }


def json_fields(fields: tuple[Field, ...], entity: object) -> dict[str, Any]:
    """Return every field as JSON."""
    values = ((field, getattr(entity, field.name)) for field in fields)
    return {field.name: None if value is None else field.type.json(value) for field, value in values}


def _read_compressions(value: Any) -> tuple[Compression, ...]:
    if value == "":
        return ()
    if not isinstance(value, list):
        raise ValueError("must be a list with an entry per tag")
    out = []
    for number, entry in enumerate(value, 1):
        if not isinstance(entry, dict):
            raise ValueError(f"entry {number} must be a map")
        raw = dict(entry)
        try:
            out.append(Compression(**read_fields(COMPRESSION, raw, {})))
        except (FormatError, RuleError) as e:
            raise ValueError(f"entry {number}: {e}") from None
        if raw:  # an entry has no place to keep unknown keys
            raise ValueError(f"entry {number}: {next(iter(raw))}: is not a field of an entry")
    return tuple(out)


COMPRESSIONS = FieldType(
    _read_compressions,
    lambda entries: [write_fields(COMPRESSION, entry) for entry in entries],
    lambda entries: [json_fields(COMPRESSION, entry) for entry in entries],
    Merge.ENTRIES,
    searched=True,
)

FIELDS: Mapping[Kind, tuple[Field, ...]] = {
    Kind.PROJECT: (
        Field("project_uuid", ID, required=True, together="project", column=True),
        Field("project_name", TEXT, required=True, together="project", column=True, csv=True),
        Field("tags", LINES, csv=True),
    ),
    Kind.CONVERSATION: (
        Field("conversation_id", ID, required=True),
        Field("title", TEXT, required=True),
        *_PROJECT,
        Field("external_id", TEXT, column=True),
        Field("session_id", TEXT),
        Field("source", TEXT),
        Field("turns", COUNT, merge=Merge.GREATER),
        Field("continues", LINES),
        Field("brought", LINES),
        Field("archived_as", LINES),
        Field("created_at", INSTANT, unset=UNKNOWN, merge=Merge.EARLIER, csv=True),
        Field("tags", LINES, csv=True),
    ),
    Kind.THREAD: (
        Field("thread_id", ID, required=True),
        Field("title", TEXT, required=True),
        Field("status", one_of(ThreadStatus), required=True, together="state", column=True, csv=True),
        Field("priority", one_of(Priority), csv=True),
        *_PROJECT,
        Field("local_id", TEXT, csv=True),
        Field("blocked_by", IDS, refers=_THREAD),
        Field("first_seen_in", ID, refers=_CONVERSATION),
        Field("resolved_in", ID, together="state", refers=_CONVERSATION),
        Field("conversation_ids", IDS, refers=_CONVERSATION),
        Field("created_at", INSTANT, required=True, merge=Merge.EARLIER, csv=True),
        Field("updated_at", INSTANT, required=True, together="state", csv=True),
        Field("tags", LINES, csv=True),
    ),
    Kind.DECISION: (
        Field("decision_id", ID, required=True),
        Field("decision", TEXT, required=True),
        Field("status", one_of(DecisionStatus), required=True, together="state", column=True, csv=True),
        Field("epistemic_tier", NUMBER, csv=True),
        Field("tier_token", CODE),
        *_PROJECT,
        Field("local_id", TEXT, csv=True),
        Field("originated_in", ID, refers=_CONVERSATION),
        Field("revised_in", ID, together="state", refers=_CONVERSATION),
        Field("superseded_by", ID, together="state", refers=_DECISION, csv=True),
        Field("conversation_ids", IDS, refers=_CONVERSATION),
        Field("dependencies", IDS, refers=_DECISION),
        Field("alternatives_rejected", LINES),
        Field("governs", LINES),
        Field("created_at", INSTANT, required=True, merge=Merge.EARLIER, csv=True),
        Field("last_validated", INSTANT, required=True, merge=Merge.LATER, csv=True),
        Field("tags", LINES, csv=True),
    ),
    Kind.LINEAGE: (
        Field("lineage_id", ID, required=True),
        Field("source_conversation_id", ID, required=True, together="ends", refers=_CONVERSATION),
        Field("target_conversation_id", ID, required=True, together="ends", refers=_CONVERSATION),
        *_PROJECT,
        Field("compressions", COMPRESSIONS, entry=COMPRESSION),
    ),
    Kind.CONFLICT: (
        Field("conflict_id", ID, required=True),
        Field("decision_a", ID, required=True, together="sides", refers=_DECISION),
        Field("decision_b", ID, required=True, together="sides", refers=_DECISION),
        Field("status", one_of(ConflictStatus), required=True, together="state", column=True, csv=True),
        Field("nature", TEXT, required=True),
        Field("similarity", NUMBER),
        Field("evidence", LINES),
        Field("detected_at", INSTANT, required=True, merge=Merge.EARLIER),
        Field("kept", ID, together="state", refers=_DECISION),
        Field("reason", TEXT, together="state"),
    ),
    Kind.CANDIDATE: (
        Field("candidate_id", ID, required=True),
        Field("candidate", TEXT, required=True),
        Field("status", one_of(CandidateStatus), required=True, together="state", column=True, csv=True),
        Field("proposes", one_of(Proposal), required=True),
        Field("confidence", NUMBER, required=True),
        Field("why", TEXT, required=True),
        *_PROJECT,
        Field("conversation_id", ID, required=True, refers=_CONVERSATION),
        Field("turn", COUNT, required=True, merge=Merge.GREATER),
        Field("local_id", TEXT, csv=True),
        Field("alternatives_rejected", LINES),
        Field("created_at", INSTANT, unset=UNKNOWN, merge=Merge.EARLIER, csv=True),
        Field("became", ID, together="state", refers=_RECORD),
    ),
    Kind.TRANSCRIPT: (
        Field("transcript_id", ID, required=True),
        Field("title", TEXT, required=True),
        Field("conversation_id", ID, required=True, refers=_CONVERSATION),
        *_PROJECT,
        Field("turn_range", TURNS, required=True, together="text"),
        Field("created_at", INSTANT, unset=UNKNOWN, merge=Merge.EARLIER, csv=True),
    ),
    Kind.ARCHIVE: (
        Field("archive_id", ID, required=True),
        Field("compression_tag", TEXT, required=True, column=True),
        Field("compression_mode", one_of(CompressionMode), required=True),
        Field("compressed_at", INSTANT, required=True),
        Field("turn_range", TURNS),
        Field("conversation_id", ID, required=True, refers=_CONVERSATION),
        Field("conversation_title", TEXT, required=True),
        Field("conversation_started", INSTANT, required=True),
        Field("session_id", TEXT),
        Field("external_id", TEXT, column=True),
        *_PROJECT,
        Field("inherits_from", LINES),
        Field("content_sha256", CODE, required=True, together="text"),
        Field("records", PAIRS, refers=_RECORD),
    ),
}
"""In the group `text` the body is merged with the fields."""


@cache
def known_fields(kind: Kind) -> tuple[str, ...]:
    """Return the front-matter keys of a kind in canonical order."""
    return tuple(field.name for field in FIELDS[kind])


def group_fields(kind: Kind, group: str) -> tuple[str, ...]:
    """Return the names of the fields of a kind that are merged as one."""
    names = tuple(field.name for field in FIELDS[kind] if field.together == group)
    return (*names, "body") if group == "text" else names


def ids_in(field: Field, value: Any) -> Iterator[EntityId]:
    """Yield the ids that a field's value holds, alone, in a list or in a map; none for None."""
    if not isinstance(value, tuple):
        if value is not None:
            yield value
        return
    for item in value:
        yield item[1] if field.rule is Merge.PAIRS else item


def _named(flag: str) -> tuple[str, ...]:
    """Return the names of the flagged fields, in the order in which files have them."""
    names: list[str] = []
    for fields in FIELDS.values():
        place = 0
        for name in (field.name for field in fields if getattr(field, flag)):
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    return tuple(names)


@cache
def catalogue_columns() -> tuple[str, ...]:
    """Return the fields of which the catalogue has a column."""
    return _named("column")


@cache
def csv_columns() -> tuple[str, ...]:
    """Return the fields of which the CSV export has a column."""
    return _named("csv")


@cache
def unsearched() -> frozenset[str]:
    """Return the fields whose words full-text search leaves out."""
    found = [field for fields in FIELDS.values() for field in fields]
    return frozenset(field.name for field in (*found, *COMPRESSION) if not field.type.searched)
