"""Entities as Markdown: YAML front matter for machines, a body for people.

Two laws hold:

    loads(kind, dumps(e)) == e          nothing is lost
    dumps(loads(kind, t)) == t          for any t that dumps wrote: no change, no diff

Unknown keys are kept, in their order, after the known ones. The path of a file is not known here;
the store adds it to an error.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

import yaml

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId, is_id, parse_id
from forgekit.model.archive import Archive
from forgekit.model.candidate import CandidateStatus, Proposal
from forgekit.model.conflict import ConflictStatus
from forgekit.model.decision import DecisionStatus
from forgekit.model.entity import CLASSES, Entity
from forgekit.model.kinds import Kind
from forgekit.model.lineage import Compression, CompressionMode, TurnRange
from forgekit.model.thread import Priority, ThreadStatus
from forgekit.text import frontmatter
from forgekit.times import UNKNOWN, Instant, format_instant, parse_instant

_SURELY_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()-]*[A-Za-z0-9)]|[A-Za-z]")
# What ends a line in YAML 1.1 or cannot stand in a file as it is; escaped, the value keeps to one line.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}
# Numbers of YAML 1.2 that PyYAML (YAML 1.1) takes for words; other readers do not.
_NUMBER_12 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")


class Plain(str):
    """Text that stands for a number, a date or something a person wrote: never quoted for its look."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Flow lists, no aliases, and quotes for whatever YAML 1.1 or 1.2 would take for another type."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class names it
        return True


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(rf"^(?:{_NUMBER_12.pattern})$"), list("-+.0123456789")
)
_Dumper.add_representer(
    Plain,
    lambda dumper, data: dumper.represent_scalar(
        dumper.resolve(yaml.ScalarNode, str(data), (True, False)),  # type: ignore[no-untyped-call] # the stubs leave it out
        str(data),
    ),
)


@lru_cache(maxsize=4096)
def _dumped(text: str, plain: bool, flow: bool) -> str:
    value: str = Plain(text) if plain else text
    dumped = str(
        yaml.dump([value], Dumper=_Dumper, default_flow_style=flow, allow_unicode=True, width=float("inf"))
    )
    out = dumped[1:].rstrip("\n").removesuffix("]") if flow else dumped[2:].rstrip("\n")
    # A tag means that this text cannot stand plain here; quotes say the same without one.
    return _dumped(text, False, flow) if plain and out.startswith("!") else out


def _quoted(text: str) -> str:
    """Return a double-quoted scalar; JSON's escapes are YAML's."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def scalar(value: str, *, flow: bool = False) -> str:
    """Return one text as a YAML scalar; `flow` when it stands between brackets."""
    if _ESCAPED.search(value):
        return _quoted(value)
    if isinstance(value, Plain):
        return _dumped(str(value), True, flow)
    if is_id(value) or (_SURELY_PLAIN.fullmatch(value) and value.casefold() not in _WORDS):
        return value
    return _dumped(value, False, flow)


def dump_field(key: str, value: Any) -> str:
    """Return the line or lines of one field, each with its line end.

    Args:
        key: the field's name.
        value: text, or lists and mappings of text, nested at will.
    """
    return _block(value, key, 0)


def _block(value: Any, key: str, indent: int) -> str:
    start = f"{' ' * indent}{scalar(key)}:"
    if isinstance(value, str):
        return f"{start} {scalar(value)}\n"
    if isinstance(value, dict) and value:
        inner = "".join(_block(item, name, indent + 2) for name, item in value.items())
        return f"{start}\n{inner}"
    if isinstance(value, list) and any(isinstance(item, dict) and item for item in value):
        return f"{start}\n" + "".join(_item(item, indent + 2) for item in value)
    return f"{start} {_flow(value)}\n"


def _item(value: Any, indent: int) -> str:
    if isinstance(value, dict) and value:
        lines = "".join(_block(item, name, indent + 2) for name, item in value.items())
        return f"{' ' * indent}- {lines[indent + 2 :]}"
    return f"{' ' * indent}- {_flow(value)}\n"


def _flow(value: Any) -> str:
    if isinstance(value, str):
        return scalar(value, flow=True)
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return "{" + ", ".join(f"{scalar(k, flow=True)}: {_flow(v)}" for k, v in value.items()) + "}"


T = TypeVar("T")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_TURN = re.compile(r"[0-9]{1,8}")


def as_text(value: Any) -> str:
    """Read a line."""
    if not isinstance(value, str):
        raise ValueError("must be one line of text")
    return value


def as_list(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Return a reader of lists."""

    def convert(value: Any) -> tuple[T, ...]:
        if value == "":
            return ()
        if not isinstance(value, list):
            raise ValueError("must be a list, such as [a, b]")
        return tuple(read(item) for item in value)

    return convert


def as_id(value: Any) -> EntityId:
    """Read an id."""
    # A person's vault may hold ids as links: [[018b...]].
    return parse_id(as_text(value).removeprefix("[[").removesuffix("]]"))


def as_number(value: Any) -> float:
    """Read a number."""
    # Python also takes `0_5`, `nan` and the digits of every script; other readers of the file do not.
    text = as_text(value)
    number = float(text) if _DECIMAL.fullmatch(text) else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text[:60]!r} is not a number")
    return number


def as_one_of(enum: type[Enum]) -> Callable[[Any], Any]:
    """Return a reader of the names of an enum."""
    names = [str(member.value) for member in enum]

    def convert(value: Any) -> Enum:
        if value not in names:
            raise ValueError(f"{str(value)[:60]!r} is none of {', '.join(names)}")
        return enum(value)

    return convert


def as_instant(value: Any) -> Instant:
    """Read a time."""
    return parse_instant(as_text(value))


def as_turns(value: Any) -> TurnRange:
    """Read a range of turns."""
    if isinstance(value, list) and len(value) == 2 and all(_TURN.fullmatch(str(v)) for v in value):
        first, last = int(value[0]), int(value[1])
        if 0 <= first <= last <= 10_000_000:
            return first, last
    raise ValueError("must be two turn numbers, such as [1, 35]")


def as_count(value: Any) -> int:
    """Read a whole number."""
    if not _TURN.fullmatch(as_text(value)) or int(value) > 10_000_000:
        raise ValueError("must be a whole number, such as 35")
    return int(value)


def as_pairs(value: Any) -> tuple[tuple[str, EntityId], ...]:
    """Read a map local id -> id; an entity whose local id is unknown stands under its own id."""
    if value == "":
        return ()
    if not isinstance(value, dict):
        raise ValueError("must be a map of local ids to ids")
    pairs = ((name, as_id(entity)) for name, entity in value.items())
    return tuple(("" if name == entity else name, entity) for name, entity in pairs)


def write_pairs(pairs: tuple[tuple[str, EntityId], ...]) -> dict[str, str]:
    """Return the map that `as_pairs` reads."""
    return {local or entity: entity for local, entity in pairs}


Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]


def _compressions(value: Any) -> tuple[Compression, ...]:
    if value == "":
        return ()
    if not isinstance(value, list):
        raise ValueError("must be a list with an entry per tag")
    out = []
    for position, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise ValueError(f"entry {position + 1} must be a map")
        unknown = dict(entry)
        try:
            out.append(Compression(**_take(_COMPRESSION, unknown, {})))
        except (FormatError, RuleError) as e:
            raise ValueError(f"entry {position + 1}: {e}") from None
        for name in unknown:  # an entry has no place for them, and nothing is dropped in silence
            raise ValueError(f"entry {position + 1}: {name}: is not a field of an entry")
    return tuple(out)


def _write_compressions(compressions: tuple[Compression, ...]) -> list[dict[str, Any]]:
    return [dict(_written(_COMPRESSION, entry)) for entry in compressions]


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpec:
    """How one front-matter key is read and written."""

    name: str
    read: Reader
    write: Writer
    required: bool = False
    unset: object = None


def _f(
    name: str, read: Reader, write: Writer = str, *, required: bool = False, unset: object = None
) -> FieldSpec:
    return FieldSpec(name, read, write, required, unset)


def _value(member: Enum) -> str:
    return str(member.value)


def _plain_number(number: float) -> Plain:
    return Plain(repr(float(number)))


def _plain_instant(moment: Instant) -> Plain:
    return Plain(format_instant(moment))


def _plain_count(number: int) -> Plain:
    return Plain(str(number))


def _plain_turns(turns: TurnRange) -> list[str]:
    return [Plain(str(turn)) for turn in turns]


_COMPRESSION = (
    _f("compression_tag", as_text, required=True),
    _f("compression_mode", as_one_of(CompressionMode), _value),
    _f("compressed_at", as_instant, _plain_instant),
    _f("turn_range", as_turns, _plain_turns),
    _f("decisions_carried", as_pairs, write_pairs),
    _f("decisions_dropped", as_pairs, write_pairs),
    _f("threads_carried", as_pairs, write_pairs),
    _f("threads_resolved", as_pairs, write_pairs),
)
_PROJECT = (_f("project_name", as_text, required=True), _f("project_uuid", as_id, required=True))

SCHEMA: dict[Kind, tuple[FieldSpec, ...]] = {
    Kind.PROJECT: (
        _f("project_uuid", as_id, required=True),
        _f("project_name", as_text, required=True),
        _f("tags", as_list(as_text), list),
    ),
    Kind.CONVERSATION: (
        _f("conversation_id", as_id, required=True),
        _f("title", as_text, required=True),
        *_PROJECT,
        _f("external_id", as_text),
        _f("session_id", as_text),
        _f("source", as_text),
        _f("turns", as_count, _plain_count),
        _f("continues", as_list(as_text), list),
        _f("brought", as_list(as_text), list),
        _f("archived_as", as_list(as_text), list),
        _f("created_at", as_instant, _plain_instant, unset=UNKNOWN),
        _f("tags", as_list(as_text), list),
    ),
    Kind.THREAD: (
        _f("thread_id", as_id, required=True),
        _f("title", as_text, required=True),
        _f("status", as_one_of(ThreadStatus), _value, required=True),
        _f("priority", as_one_of(Priority), _value),
        *_PROJECT,
        _f("local_id", as_text),
        _f("blocked_by", as_list(as_id), list),
        _f("first_seen_in", as_id),
        _f("resolved_in", as_id),
        _f("conversation_ids", as_list(as_id), list),
        _f("created_at", as_instant, _plain_instant, required=True),
        _f("updated_at", as_instant, _plain_instant, required=True),
        _f("tags", as_list(as_text), list),
    ),
    Kind.DECISION: (
        _f("decision_id", as_id, required=True),
        _f("decision", as_text, required=True),
        _f("status", as_one_of(DecisionStatus), _value, required=True),
        _f("epistemic_tier", as_number, _plain_number),
        _f("tier_token", as_text, Plain),
        *_PROJECT,
        _f("local_id", as_text),
        _f("originated_in", as_id),
        _f("revised_in", as_id),
        _f("superseded_by", as_id),
        _f("conversation_ids", as_list(as_id), list),
        _f("dependencies", as_list(as_id), list),
        _f("alternatives_rejected", as_list(as_text), list),
        _f("created_at", as_instant, _plain_instant, required=True),
        _f("last_validated", as_instant, _plain_instant, required=True),
        _f("tags", as_list(as_text), list),
    ),
    Kind.LINEAGE: (
        _f("lineage_id", as_id, required=True),
        _f("source_conversation_id", as_id, required=True),
        _f("target_conversation_id", as_id, required=True),
        *_PROJECT,
        _f("compressions", _compressions, _write_compressions),
    ),
    Kind.CONFLICT: (
        _f("conflict_id", as_id, required=True),
        _f("decision_a", as_id, required=True),
        _f("decision_b", as_id, required=True),
        _f("status", as_one_of(ConflictStatus), _value, required=True),
        _f("nature", as_text, required=True),
        _f("similarity", as_number, _plain_number),
        _f("evidence", as_list(as_text), list),
        _f("detected_at", as_instant, _plain_instant, required=True),
        _f("kept", as_id),
        _f("reason", as_text),
    ),
    Kind.CANDIDATE: (
        _f("candidate_id", as_id, required=True),
        _f("candidate", as_text, required=True),
        _f("status", as_one_of(CandidateStatus), _value, required=True),
        _f("proposes", as_one_of(Proposal), _value, required=True),
        _f("confidence", as_number, _plain_number, required=True),
        _f("why", as_text, required=True),
        *_PROJECT,
        _f("conversation_id", as_id, required=True),
        _f("turn", as_count, _plain_count, required=True),
        _f("local_id", as_text),
        _f("alternatives_rejected", as_list(as_text), list),
        _f("created_at", as_instant, _plain_instant, unset=UNKNOWN),
        _f("became", as_id),
    ),
    Kind.TRANSCRIPT: (
        _f("transcript_id", as_id, required=True),
        _f("title", as_text, required=True),
        _f("conversation_id", as_id, required=True),
        *_PROJECT,
        _f("turn_range", as_turns, _plain_turns, required=True),
        _f("created_at", as_instant, _plain_instant, unset=UNKNOWN),
    ),
    Kind.ARCHIVE: (
        _f("archive_id", as_id, required=True),
        _f("compression_tag", as_text, required=True),
        _f("compression_mode", as_one_of(CompressionMode), _value, required=True),
        _f("compressed_at", as_instant, _plain_instant, required=True),
        _f("turn_range", as_turns, _plain_turns),
        _f("conversation_id", as_id, required=True),
        _f("conversation_title", as_text, required=True),
        _f("conversation_started", as_instant, _plain_instant, required=True),
        _f("session_id", as_text),
        _f("external_id", as_text),
        *_PROJECT,
        _f("inherits_from", as_list(as_text), list),
        _f("content_sha256", as_text, Plain, required=True),
        _f("records", as_pairs, write_pairs),
    ),
}


def known_fields(kind: Kind) -> tuple[str, ...]:
    """Return the front-matter keys of a kind in their canonical order."""
    return tuple(spec.name for spec in SCHEMA[kind])


def loads(kind: Kind, text: str) -> Entity:
    """Read one entity.

    Args:
        kind: known from the file's path.
        text: the whole file.

    Raises FormatError with line and field.
    """
    if kind is Kind.ARCHIVE:
        head, rest = frontmatter.split(text)
        fields, lines = frontmatter.load_fields(head.replace("\r\n", "\n"))
        # The body is verbatim: exactly one line end after the fence is ours.
        body = rest.removeprefix("\r\n" if rest.startswith("\r\n") else "\n")
    else:
        fields, lines, body = frontmatter.read(text)
    return from_fields(kind, fields, body, lines)


def from_fields(
    kind: Kind, fields: frontmatter.Fields, body: str, lines: Mapping[str, int] | None = None
) -> Entity:
    """Build an entity from fields as the front matter holds them: text, lists and maps of text.

    Args:
        kind: which entity.
        fields: kept unchanged.
        body: what follows the front matter.
        lines: the 1-based line of each field, for messages.

    Raises FormatError with field and, where known, line.
    """
    unknown = dict(fields)
    lines = lines or {}
    values = _take(SCHEMA[kind], unknown, lines)
    try:
        return CLASSES[kind](**values, extra=unknown, body=body)
    except RuleError as e:
        field, _, message = str(e).partition(": ")
        raise FormatError(message or field, line=lines.get(field), field=field) from None


def to_fields(entity: Entity) -> frontmatter.Fields:
    """Return the fields of an entity as the front matter holds them; the inverse of from_fields."""
    return {**dict(_written(SCHEMA[entity.kind], entity)), **entity.extra}


def _take(specs: tuple[FieldSpec, ...], fields: dict[str, Any], lines: Mapping[str, int]) -> dict[str, Any]:
    """Convert the known fields and remove them; what is left is unknown."""
    values: dict[str, Any] = {}
    for spec in specs:
        raw = fields.pop(spec.name, None)
        if raw is None or raw == "" or isinstance(raw, frontmatter.Null):
            if spec.required:
                raise FormatError(
                    "is missing", field=spec.name, line=lines.get(spec.name, 1 if lines else None)
                )
            continue
        try:
            values[spec.name] = spec.read(raw)
        except ValueError as e:
            raise FormatError(str(e), field=spec.name, line=lines.get(spec.name)) from None
    return values


def _written(specs: tuple[FieldSpec, ...], entity: object) -> list[tuple[str, Any]]:
    """Return (key, plain value) of every field that is set."""
    out = []
    for spec in specs:
        value = getattr(entity, spec.name)
        if value is not None and value not in ((), spec.unset):
            out.append((spec.name, spec.write(value)))
    return out


def plain_tree(value: Any) -> Any:
    """Return a value of an unknown key as it is written: each scalar as plain as it was."""
    if isinstance(value, str):
        return Plain(value)
    if isinstance(value, dict):
        return {key: plain_tree(item) for key, item in value.items()}
    return [plain_tree(item) for item in value]


def field_texts(entity: Entity) -> dict[str, str]:
    """Return each set field's canonical line or lines, in canonical order."""
    fields = _written(SCHEMA[entity.kind], entity)
    fields += [(key, plain_tree(value)) for key, value in entity.extra.items()]
    return {key: dump_field(key, value) for key, value in fields}


def dumps(entity: Entity) -> str:
    """Write the one canonical text: fixed key order, unset fields left out, LF.

    Raises FormatError when the front matter would be too long to be read back.
    """
    texts = field_texts(entity)
    fields = "".join(texts.values())
    if len(fields.encode()) > frontmatter.FRONT_MATTER_LIMIT:
        longest = max(texts, key=lambda name: len(texts[name]))
        raise FormatError(
            f"makes the front matter longer than {frontmatter.FRONT_MATTER_LIMIT:,} bytes; shorten it",
            field=longest,
        )
    head = f"---\n{fields}---\n"
    if isinstance(entity, Archive):
        return f"{head}\n{entity.body}"
    return head + (f"\n{entity.body}\n" if entity.body else "")
