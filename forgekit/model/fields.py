"""The front-matter fields of every kind of entity, each declared once, in canonical order.

The codec, the merge rules, the reference checks, the renaming of ids, the catalogue's columns, the columns
of the CSV export and the JSON views are derived from `FIELDS`. To add a field, add it to the dataclass of
its kind and to this table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId
from forgekit.model.candidate import CandidateStatus, Proposal
from forgekit.model.conflict import ConflictStatus
from forgekit.model.decision import DecisionStatus
from forgekit.model.field_types import (
    CODE,
    COUNT,
    ID,
    IDS,
    INSTANT,
    LINES,
    NUMBER,
    PAIRS,
    TEXT,
    TURNS,
    FieldType,
    Merge,
    Null,
    one_of,
)
from forgekit.model.kinds import Kind
from forgekit.model.lineage import Compression, CompressionMode
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.times import UNKNOWN


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
