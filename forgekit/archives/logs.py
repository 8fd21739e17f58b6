"""Records in YAML: logs in code fences, and machine blocks, which are read in three versions.

v1  `<!-- FORGE_OS_MACHINE_BLOCK v1 -->` ... `<!-- /FORGE_OS_MACHINE_BLOCK -->`
v2  `<!-- FORGE_OS_MACHINE_BLOCK_START` ... `FORGE_OS_MACHINE_BLOCK_END -->`
v3  `<!-- forgekit:machine-block v3` ... `-->`: as `machine_block` writes it

A text that is not YAML is read again with its one-line values quoted: an unquoted `: ` inside a value is
the usual slip.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from forgekit.archives.claims import (
    LOCAL_ID,
    OWN_FIELDS,
    PLAIN_ID,
    ClaimList,
    bare,
    flat,
    is_moment,
    is_none,
    items,
    keep_unknown,
    key_of,
    kind_of,
    make_claim,
    named_fields,
    parse_thread_status,
    text_of,
)
from forgekit.archives.columns import BEGINS, LABELS, meaning, votes_for
from forgekit.archives.differences import change_of, is_change
from forgekit.archives.document import Document, read_document
from forgekit.archives.labels import (
    fact_named,
    field_named,
    fold,
    lists_kind,
    names_kind,
    parted,
    priority_of,
    quotes,
    state_of_label,
)
from forgekit.archives.machine_block import MachineBlock, MachineRecord, digest_of
from forgekit.archives.notes import annotated
from forgekit.archives.spans import Span, spans_of
from forgekit.archives.states import state_named
from forgekit.errors import FormatError
from forgekit.model.archive_record import Family, Update
from forgekit.model.entities import ThreadStatus
from forgekit.model.kinds import ENTITY_LIMIT
from forgekit.model.rules import one_line
from forgekit.text.frontmatter import Located, load_yaml

_MARKERS = {
    1: (r"<!--\s*FORGE_OS_MACHINE_BLOCK\s+v1\s*-->", r"<!--\s*/FORGE_OS_MACHINE_BLOCK\s*-->"),
    2: (
        r"<!--\s*FORGE_OS_MACHINE_BLOCK_START\s*(?:-->)?",
        r"(?:<!--\s*)?FORGE_OS_MACHINE_BLOCK_END\s*-->",
    ),
    3: (r"<!--\s*forgekit:machine-block\s+v3", r"-->"),
}
_OPENERS = {version: re.compile(rf"\s*{marks[0]}\s*$") for version, marks in _MARKERS.items()}
_CLOSERS = {version: re.compile(rf"\s*{marks[1]}\s*$") for version, marks in _MARKERS.items()}
_VERSION_KEYS = {1: "schema_version", 2: "version", 3: "version"}
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_ONE_LINE = re.compile(r"^([ \t]*(?:- +)?[\w -]{1,60}: +)(?![|>\"'][-+]?\s*$)(\S.*?)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(?:#{2,6}[ \t]+[^ \t]|# Conversation)")


def parse_machine_block(text: str) -> list[MachineBlock]:
    """Read every machine block of a text outside code fences."""
    return read_blocks(read_document(text))


def read_blocks(document: Document) -> list[MachineBlock]:
    """Read the machine blocks of a document."""
    spans = list(_spans(document))
    own = [(first, last) for version, first, last, _ in spans if version == 3]
    digest = digest_of(document.lines, own) if own else ""
    return [_read(document.lines, span, digest) for span in spans]


def _spans(document: Document) -> Iterator[tuple[int, int, int, bool]]:
    """Yield (version, first, last, closed) of each block, lines 1-based."""
    lines = document.lines
    fenced = {n for fence in document.fences for n in range(fence.first_line, fence.last_line + 1)}
    reached = 0
    for number, line in enumerate(lines, 1):
        if number > reached and "<!--" in line[:60] and len(line) < 200 and number not in fenced:
            version = next((v for v, opener in _OPENERS.items() if opener.match(line)), None)
            if version is not None:
                reached, closed = _end(lines, number, version)
                yield version, number, reached, closed


def _end(lines: Sequence[str], start: int, version: int) -> tuple[int, bool]:
    """Return the last line (1-based) of a block; one without an end stops before the next heading."""
    for number in range(start, len(lines)):
        line = lines[number]
        if len(line) < 200 and _CLOSERS[version].match(line):
            return number + 1, True
        if _HEADING.match(line[:20]) or any(opener.match(line[:200]) for opener in _OPENERS.values()):
            return number, False
    return len(lines), False


def _read(lines: Sequence[str], span: tuple[int, int, int, bool], digest: str) -> MachineBlock:
    version, first, last, closed = span
    inner = ["" if _FENCE.match(line[:20]) else line for line in lines[first : last - closed]]
    found = ClaimList()
    payload: Mapping[str, Any] = {}
    with contextlib.suppress(FormatError):
        payload = next(iter(read_log(found, "\n".join(inner) + "\n", first + 1, Family.MACHINE)), {})
    broken = ""
    if not closed:
        broken = "is never closed"
    elif not payload:
        broken = "is not YAML"
    elif bare(str(payload.get(_VERSION_KEYS[version], ""))) != str(version):
        broken = f"does not say {_VERSION_KEYS[version]}: {version}"
    metadata = payload.get("metadata")
    meta: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return MachineBlock(
        purpose=_text(payload.get("purpose")),
        project=_text(payload.get("project", meta.get("project"))),
        tag=_text(payload.get("tag", payload.get("compression_tag", meta.get("compression_tag")))),
        parents=items(payload.get("parents", meta.get("previous_session", ""))),
        decisions=_named(payload.get("active"), "active"),
        threads=_named(payload.get("open"), "open"),
        first_line=first,
        last_line=last,
        fresh=version != 3 or "purpose" in payload or payload.get("sha256") == digest,
        broken=broken,
        payload=payload,
        claims=tuple(found.claims),
        problems=tuple(found.problems),
    )


def _text(value: Any) -> str:
    return "" if is_none(value) or not isinstance(value, str) else one_line(bare(value))


def _named(value: Any, status: str) -> tuple[MachineRecord, ...]:
    """Read the names of a block that forgekit printed: a short id, with the archive's own id before it."""
    names = [bare(name).split() for name in value if isinstance(name, str)] if isinstance(value, list) else []
    return tuple(
        MachineRecord(id=name[0] if len(name) > 1 else "", entity=name[-1], status=status)
        for name in names
        if 1 <= len(name) <= 2
    )


_CONTEXT = {"inherited context", "external store", "retrieval triggers"}
_STATE = {"conversation state", "compression scope", "compression mode"}
_ROOTS = {*_CONTEXT, *_STATE, "archive", "metadata"}
_NO_RECORDS = {*_CONTEXT, "carried decisions", "in context"}

_LEADING_TABS = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)
_KEY = re.compile(r"( *)(?:- +)?[\"']?([^\W\d][\w -]{0,60}?)[\"']? *:(?: |$)")
_OF_ARCHIVE = re.compile(
    r"id[\"']?\s*:\s*[\"'`]?(?:OT|[DTA])-?\d{1,4}\b|\b(?:OT|[DTA])-?\d{3,4}[\"']?\s*:"
    r"|compress(?:ed|ion)[_ ]tag",
    re.IGNORECASE,
)
_TOP_KEY = re.compile(r"[^\W\d][\w -]*:(?:\s|$)")
_JSON_COMMENT = re.compile(r"(?m)^((?:\"(?:[^\"\\\n]|\\.)*\"|[^\"/\n]|/(?!/))*)//[^\n]*")
_JSON_LINES = re.compile(r"\}(\s*\n)(?=\{)")
_NESTED = re.compile(
    r"^[^\W\d][\w -]{0,60}:[ \t]*\n(?:[ \t]*- [^:\n]{1,60}:(?: .*)?\n[ \t]+[^\W\d][\w -]{0,60}:(?: |$)"
    r"|[ \t]+[^\W\d][\w -]{0,60}:(?:\n[ \t]+(?:- \{?)?[^\W\d][\w -]{0,60}:(?: |$)| *\{))",
    re.MULTILINE,
)
_NAMED = re.compile(
    rf"(?P<id>{PLAIN_ID})\s*(?::|[\u2013\u2014]|-(?=\s))\s*(?P<text>\S.*)$", re.IGNORECASE | re.DOTALL
)


def is_log(info: str, content: str, *, in_record: bool) -> bool:
    """Say whether a fence holds YAML of an archive: in a record only if it names local ids or a tag."""
    if info == "front matter":
        return True
    if info in ("yaml", "yml", "json"):
        return not in_record or _OF_ARCHIVE.search(content) is not None
    if info != "":
        return False
    first = next((line for line in content.splitlines() if line.strip() not in ("", "---")), "").strip()
    key = fold(first.split(":")[0])
    return (
        key in _ROOTS
        or any(lists_kind(key, kind) for kind in "DTA")
        or (first[:1] == "{" and _OF_ARCHIVE.search(content) is not None)
    )


def is_bare_log(lines: Sequence[str]) -> bool:
    """Say whether a whole text is YAML or JSON of an archive without a fence around it."""
    full = [line for line in lines if line.strip() and line.strip() != "---"]
    if full and full[0].lstrip()[:1] in ("{", "["):
        return (
            full[-1].rstrip()[-1:] in ("}", "]")
            and re.match(r"[{\[]\s*[\"{\[]", "".join(full[:2])) is not None
        )
    loose = any(line[:1] not in " -#}]" and not _TOP_KEY.match(line[:80]) for line in full)
    if loose or not full:
        return False
    wrapped = re.fullmatch(r"[^\W\d][\w -]*:\s*", full[0]) and all(line[0] == " " for line in full[1:])
    return bool(wrapped) or _NESTED.search("\n".join(full)) is not None


def own_part(text: str, without: Collection[str] = ()) -> str:
    """Return YAML or JSON, whole or damaged, without what it states about its parent and the keys `without`.

    The other lines keep their numbers.
    """
    lines, hidden, keys = [], -1, {*_NO_RECORDS, *without}
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" -"))
        if 0 <= hidden < indent or not line.strip():
            lines.append("")
            continue
        key = _KEY.match(line)
        left_out = key and (fold(key[2]) in keys or quotes(key[2]))
        hidden = indent if left_out else -1
        lines.append("" if hidden >= 0 else line)
    return "\n".join(lines)


def unread_lines(text: str, taken: AbstractSet[int]) -> list[bool]:
    """Return which lines of data belong to no record, parent or state of the conversation.

    `taken` are the lines on which records begin, from 0.
    """
    unread: list[bool] = []
    record = -1  # the indent of the record that a line may belong to
    for number, line in enumerate(own_part(text, _STATE).split("\n")):
        indent = len(line) - len(line.lstrip())
        if number in taken:
            record = len(line) - len(line.lstrip(" -"))
        elif line and indent < record:
            record = -1
        unread.append(line != "" and record < 0)
    return unread


def with_quotes(text: str) -> str:
    """Return a text that is no YAML with its one-line values quoted, so that each is text."""
    return _ONE_LINE.sub(lambda match: match[1] + json.dumps(match[2], ensure_ascii=False), text)


def read_log(
    found: ClaimList,
    text: str,
    first_line: int,
    family: Family = Family.YAML,
    *,
    carried_only: bool = False,
) -> list[Mapping[str, Any]]:
    """Read the records of a YAML text (`carried_only`: all are a parent's); return its mappings.

    Raises FormatError for what is no YAML.
    """
    text = _LEADING_TABS.sub(lambda m: m.group().replace("\t", "  "), text)
    if len(text) > ENTITY_LIMIT:
        raise FormatError(f"longer than {ENTITY_LIMIT:,} characters", line=first_line)
    if text.lstrip()[:1] in ("{", "["):
        text = _JSON_COMMENT.sub(r"\1", text)
    if text[:1] == "{" and _JSON_LINES.search(text):
        text = f"[{_JSON_LINES.sub(lambda m: f'}},{m[1]}', text)}]"
    documents = load_yaml(text, first_line)
    maps: list[Mapping[str, Any]] = [each for each in documents if isinstance(each, Located)]
    if not maps and (listed := [item for one in documents if isinstance(one, list) for item in one]):
        maps = [Located(first_line, _by_type(listed))]
    found.data = text
    found.codes = dict(pair for document in maps for pair in _codes_in(document))
    for document in maps:
        _walk(found, document, family, carried=carried_only)
    for claim in found.claims:  # JSON is read without its lines
        if not claim.line and (place := text.find(json.dumps(claim.local_id))) >= 0:
            claim.line = first_line + text.count("\n", 0, place)
    return maps


def _by_type(items: Iterable[Any]) -> dict[str, Any]:
    """Return the items of a list by their `type`; of one that is no record, its facts of the archive."""
    found: dict[str, Any] = {}
    items = list(items)
    typed = _type_key(items)
    groups: dict[str, list[Any]] = {}
    for item in items if typed else ():
        groups.setdefault(fold(str(item[typed])), []).append(item)
    kinds = {name: _kind_of_items(group) for name, group in groups.items() if not quotes(name)}
    for item in items:
        if not isinstance(item, Located):
            found.setdefault("decision", []).append(item)
            continue
        key = next((name for name in ("type", "kind", typed) if name in item), "")
        named = fold(str(item[key])) if key else "decision"
        values = {name: value for name, value in item.items() if name != key}
        if key == typed and (kind := kinds.get(named, "")):
            named = _LISTS[kind]
        if any(lists_kind(named, kind) for kind in "DTA"):
            found.setdefault(named, []).append(Located(item.line, values))
        else:
            found |= {name: value for name, value in values.items() if fact_named(fold(name))}
    return found


_LISTS = {"D": "decision", "T": "thread", "A": "artifact"}
_TYPE = re.compile(r"[^\W\d]{1,20}")


def _type_key(items: Sequence[Any]) -> str:
    """Return the key that gives the type of each item by a word that comes again, "" if none does."""
    if len(items) < _FEWEST_TYPED or not all(isinstance(item, Mapping) for item in items):
        return ""
    for key in items[0]:
        words = [item.get(key) for item in items]
        is_word = all(isinstance(word, str) and _TYPE.fullmatch(word) for word in words)
        repeated = [word for word in words if words.count(word) > 1]
        if is_word and 2 * len(repeated) >= len(words) and not any(field_named(key, k) for k in "DT"):
            return str(key)
    return ""


_FEWEST_TYPED = 4


def _walk(found: ClaimList, document: Mapping[str, Any], family: Family, *, carried: bool) -> None:
    """Take the records out of a mapping and the mappings in it; depth is bounded by the YAML reader."""
    for key, value in document.items():
        name = fold(parted(key))
        inherited = carried or name in _NO_RECORDS or quotes(name) != ""
        listed = not inherited and any(lists_kind(name, kind) for kind in "DTA")
        if name == "carried decisions" or (listed and isinstance(value, list | Mapping)):
            _take(found, name, value, family, carried=inherited)
        elif isinstance(value, Mapping) and not inherited and (kind := _kind_of_codes(found, value)):
            _take(found, name, value, family, carried=False, listed=kind)
        elif isinstance(value, Mapping):
            _walk(found, _merged(value), family, carried=inherited)
        elif isinstance(value, list) and not inherited and any(isinstance(item, Mapping) for item in value):
            records = [item for item in value if not _is_change(found, item)]
            kind = _kind_of_items(records) or _kind_voted(found, records)
            if kind := kind or ("T" if state_of_label(name, "T") and not state_of_label(name, "D") else ""):
                _take(found, name, records, family, carried=False, listed=kind)
            elif records and family is not Family.MACHINE and not fact_named(name):
                message = f"the {len(records)} entries under {name[:40]!r} are no records that are known"
                found.warn(
                    "unread-list", message, getattr(document, "line", None), "name the list `decisions`"
                )


def _merged(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return mappings of the same lists, each about one topic, as one; any other mapping as it is."""
    parts = [part for part in value.values() if isinstance(part, Mapping)]
    lists = dict.fromkeys(key for part in parts for key, inner in part.items() if isinstance(inner, list))
    if len(parts) < max(len(value), 2) or not lists or any(part.keys() != lists.keys() for part in parts):
        return value
    return Located(getattr(value, "line", 0), {key: [one for p in parts for one in p[key]] for key in lists})


def _is_change(found: ClaimList, item: Any) -> bool:
    """Say whether an item states what a parent's record was and is now, and add its update."""
    if not isinstance(item, Mapping) or not is_change(item):
        return False
    name = next((str(item[key]) for key in item if field_named(key, "D") == "local_id"), "")
    pairs = [(key, text_of(value)) for key, value in item.items() if str(value) != name]
    line: int = getattr(item, "line", 0) or 1
    if name:
        found.updates.append(Update(local_id=bare(name), line=line, text=one_line(change_of(pairs))))
    return bool(name)


def _kind_voted(found: ClaimList, items: Sequence[Any]) -> str:
    """Return the kind of items in most of which the tagger finds a record with fields, else ""."""
    maps = [item for item in items if isinstance(item, Mapping)]
    spans = _spans_in(found.data) if len(maps) > 1 else {}
    sums, with_fields, held = {"D": 0.0, "T": 0.0}, 0, 0
    for item in maps if spans else ():
        votes = votes_for([one_line(flat(value)) for value in item.values()], spans)
        held += any(tag in "DT" for tag, _ in votes)
        with_fields += any(tag in LABELS and tag not in "DT" for tag, _ in votes)
        for tag, margin in votes:
            sums[tag] = sums.get(tag, 0.0) + margin
    is_clear = 3 * held > 2 * len(maps) and 2 * with_fields > len(maps)
    return max("DT", key=lambda kind: sums[kind]) if is_clear else ""


def _kind_of_codes(found: ClaimList, value: Mapping[str, Any]) -> str:
    """Return the kind of the items in a mapping whose keys are all ids, "" for any other mapping."""
    is_coded = value and all(_is_code(key) and isinstance(item, Mapping) for key, item in value.items())
    items = list(value.values())
    if is_coded:
        return _kind_of_items(items)
    return _kind_of_items(items) or _kind_voted(found, items) if _is_keyed(value) else ""


def _is_keyed(value: Mapping[str, Any]) -> bool:
    """Say whether the values of a mapping are like records, each under its name."""
    inner = list(value.values())
    if len(inner) == 1 or not all(isinstance(each, Mapping) and len(each) > 1 for each in inner):
        return False
    names = [key for key in value if any(field_named(key, kind) for kind in "DT") or lists_kind(key, "A")]
    parts = [part for each in inner for part in each.values()]
    is_deep = any(isinstance(p, list) and any(isinstance(one, Mapping) for one in p) for p in parts)
    return (
        2 * len(names) < len(value) and not is_deep and bool(set.intersection(*(set(each) for each in inner)))
    )


def _kind_of_items(value: list[Any]) -> str:
    """Return the kind that the ids or the fields of the items in a list show."""
    items = [item for item in value if isinstance(item, Mapping)]
    ids = {
        kind_of(bare(str(item[key]))) for item in items for key in item if field_named(key, "D") == "local_id"
    }
    if ids and "" not in ids:
        return min(ids)
    keys = {key for item in items for key in item}
    counts = {k: len({field_named(key, k) for key in keys} & own) for k, own in OWN_FIELDS.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] > min(counts.values()) else ""


def _take(
    found: ClaimList, name: str, value: Any, family: Family, *, carried: bool, listed: str = ""
) -> None:
    listed = listed or next((kind for kind in "DTA" if lists_kind(name, kind)), "")
    if isinstance(value, Mapping) and listed in ("D", "T") and not carried and _is_by_state(value):
        for state, part in value.items():
            _take(found, fold(parted(state)), part, family, carried=False, listed=listed)
        return
    items = value if isinstance(value, list) else []
    has_titles = any(
        field_named(key, listed) == "text" for each in items if isinstance(each, Mapping) for key in each
    )
    if listed == "T" and not carried and not has_titles and _kind_voted(found, items) == "D":
        name, listed = "decisions", "D"  # such as the outcomes of resolved questions
    state = _state_of_list(name, listed)
    records = list(_records(value))
    for local_id, item in records if carried else _with_meanings(found, records, listed):
        line: int = getattr(item, "line", 0) or getattr(value, "line", 0)
        kind = (kind_of(local_id) if LOCAL_ID.fullmatch(local_id) else "") or _kind_stated(item) or listed
        kind = listed if kind == "A" and listed else kind  # decisions numbered A1, A2
        if not isinstance(item, Mapping) and _is_id(item):
            found.updates.append(Update(local_id=str(item).strip(), line=line or 1, text=name))
            continue
        raw, unknown = _fields_of(item, kind or "D")
        unknown = {key: value for key, value in unknown.items() if not _names_kind(value, kind)}
        if not raw:
            continue
        is_answered = state == ThreadStatus.OPEN.value and raw.get("resolution")
        raw |= {"status": state, **raw} if state and not is_answered else {}
        if unknown and kind in ("D", "T") and not carried:
            keep_unknown(found, local_id, unknown, raw, kind, line)
        if kind and re.fullmatch(r"[^\W_][\w .-]{0,39}", local_id):
            make_claim(found, local_id, raw, line, family, kind=kind, carried=carried)
        elif listed and not local_id:
            number = item.get("number") if isinstance(item, Mapping) else None
            found.unnumbered.append((line, listed, raw, number))
        else:
            what = f"the id {local_id[:40]!r}" if local_id else "no id"
            found.warn("unreadable-record", f"a record under {name!r} has {what}", line or None, "D001, T001")


def _with_meanings(
    found: ClaimList, records: Sequence[tuple[str, Any]], listed: str
) -> Iterator[tuple[str, Any]]:
    """Yield records with a known label for each key that is not known, as all its values seem to mean."""
    kinds = [(kind_of(each) if LOCAL_ID.fullmatch(each) else "") or listed for each, _ in records]
    ids = [key_of(local_id) for local_id, _ in records]
    labels: dict[str, dict[str, str]] = {}
    for kind in {*kinds} & {"D", "T"}:
        maps = [
            item if k == kind and isinstance(item, Mapping) else {}
            for (_, item), k in zip(records, kinds, strict=True)
        ]
        labels[kind] = _labels_of(found, maps, kind, ids) if sum(map(bool, maps)) > 1 else {}
    for (local_id, item), kind in zip(records, kinds, strict=True):
        known = labels.get(kind, {})
        if isinstance(item, Mapping) and known:
            named: dict[str, Any] = {}
            for key, value in item.items():
                label = str(known.get(key, key))
                meant = found.codes.get(value, value) if isinstance(value, str) else value
                meant = _HOLDS.get(str(value), meant) if label == "status" else meant
                named[label if label not in named else key] = meant
            if named.get("status") == _HOLDS["false"] and named.get("superseded by"):
                named["status"] = "superseded"
            yield local_id, Located(getattr(item, "line", 0), named)
        else:
            yield local_id, item


def _labels_of(
    found: ClaimList, items: Sequence[Mapping[str, Any]], kind: str, ids: Sequence[str]
) -> dict[str, str]:
    """Return the labels of fields for those keys of like items, with their ids, that are not known."""
    values: dict[str, list[str]] = {}
    for key, value in (pair for item in items for pair in item.items() if not is_none(pair[1])):
        inner = value if isinstance(value, list) else [value]
        if not any(isinstance(each, Mapping) for each in inner):
            text = one_line(flat(value))
            values.setdefault(key, []).append(found.codes.get(text, text))
    given = {field_named(key, kind) for item in items for key in item}
    beside = {key for item in items for key in item if _beside_state(item, key, kind)}
    unknown = {
        key: texts for key, texts in values.items() if not field_named(key, kind) and key not in beside
    }
    spans = _spans_in(found.data) if unknown else {}
    labels: dict[str, str] = {}
    for key, texts in unknown.items():
        tag = meaning(key, texts, votes_for(texts, spans), kind, {*ids} - {""})
        named = [(key_of(str(item[key])), own) for item, own in zip(items, ids, strict=True) if item.get(key)]
        if tag == "dep" and all(name in ids and ids.index(name) > ids.index(own) for name, own in named):
            tag = "by"  # what a record has from a later one replaced it
        state = parse_thread_status(parted(key))[0] if kind == "T" else None
        tag = "res" if state is ThreadStatus.RESOLVED and not {*texts} & _HOLDS.keys() else tag
        others = {text for name, some in values.items() if name != key for text in some if " " in text}
        tag = "by" if kind == "D" and others.issuperset(texts) else tag  # the words of another record
        if kind == "D" and {*texts} <= _HOLDS.keys():  # `holds: true`
            tag = "state" if texts.count("false") <= texts.count("true") else ""
        name = field_named(LABELS.get(tag, ""), kind)
        if name and (name in _SEVERAL or name not in given):
            given.add(name)
            labels[key] = LABELS[tag]
    return labels


def _beside_state(item: Mapping[str, Any], key: str, kind: str) -> str:
    """Return the label that a key is behind the state of its record, "" if none: superseded, `by: 5`."""
    state = next((str(value) for each, value in item.items() if field_named(each, kind) == "status"), "")
    label = f"{state} {key}"
    return label if not field_named(key, kind) and field_named(label, kind) == "superseded_by" else ""


_LONGEST_ID = 14
_HOLDS = {"true": "active", "false": "no longer valid"}
_SEVERAL = ("alternatives", "dependencies", "blocked_by")


def _codes_in(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the words that mappings rate and their priorities: `{hot: high, cold: low}`."""
    for value in document.values():
        if isinstance(value, Mapping):
            if len(value) > 1 and all(isinstance(v, str) and priority_of(v) for v in value.values()):
                yield from value.items()
            yield from _codes_in(value)


@lru_cache(maxsize=2)
def _spans_in(data: str) -> Mapping[str, Sequence[Span]]:
    """Return what the tagger finds in data, by how it begins."""
    lines = data.split("\n")
    spans: dict[str, list[Span]] = {}
    for span in spans_of(lines, [True] * len(lines)):
        spans.setdefault(span.text[:BEGINS], []).append(span)
    return spans


def _state_of_list(name: str, kind: str) -> str:
    """Return the state that the name of a list gives its records, "" for none."""
    if kind not in ("D", "T"):
        return ""
    state = state_of_label(name, kind)
    return str(state.value) if state is not None else state_named(name, kind) if " " in name else ""


def _fields_of(item: Any, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a record, and those whose labels are not known; no fields for an empty one."""
    if not isinstance(item, Mapping):
        text, raw = annotated(text_of(item), kind, clauses=True)
        return ({"text": text, **raw} if text_of(item) else {}), {}
    pairs = [(_beside_state(item, str(key), kind) or str(key), value) for key, value in item.items()]
    raw, unknown = named_fields(pairs, kind)
    raw.pop("local_id", None)
    made = next(
        (v for key, v in pairs if field_named(key, kind) == "timestamp" and names_kind(key, kind)), ""
    )
    if "text" not in raw and " " in text_of(made) and not is_moment(text_of(made), day_first=True):
        raw["text"] = raw.pop("timestamp")  # `decided: Use oak`
    first = next((name for name, value in unknown.items() if isinstance(value, str)), "")
    if "text" not in raw and first:
        raw["text"] = unknown.pop(first)
    if "text" not in raw:  # under a label that names ids too, such as `no`
        named = (text_of(v) for key, v in pairs if field_named(key, kind) == "local_id")
        text = next((text for text in named if len(text) > _LONGEST_ID or " " in text), "")
        raw |= {"text": text} if text else {}
    return raw or {"text": ""}, unknown


def _is_id(item: Any) -> bool:
    return LOCAL_ID.fullmatch(str(item).strip()) is not None or _is_code(item)


def _is_by_state(value: Mapping[str, Any]) -> bool:
    """Say whether a mapping parts a list of records by their state: `open: [...]`, `closed: [...]`."""
    return bool(value) and all(isinstance(each, list) and not _is_id(key) for key, each in value.items())


_LABELLED = ("rationale", "alternatives", "dependencies")
_VAGUE = (None, "full_context_ref", "ignored")


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"#?[A-Z]{1,6}-?\d{1,5}", value) is not None


def _with_inner(item: Mapping[str, Any]) -> Located:
    """Return an item with the fields of mappings that no label names: `fields: {type: {name: Decision}}`."""
    fields: dict[str, Any] = {}
    for key, value in item.items():
        if not isinstance(value, Mapping) or _is_id(key):
            fields[key] = value
        elif any(field_named(key, kind) for kind in "DT"):
            more = (
                {k: v for k, v in value.items() if field_named(k, "D") in _LABELLED} if len(value) > 1 else {}
            )
            rest = {k: v for k, v in value.items() if k not in more}
            fields |= {key: next(iter(rest.values())) if more and len(rest) == 1 else rest or value} | more
        elif len(value) == 1 and all(isinstance(inner, str) for inner in value.values()):
            fields[key] = next(iter(value.values()))
        else:
            fields |= _with_inner(value)
    return Located(getattr(item, "line", 0), fields)


def _names_kind(value: Any, kind: str) -> bool:
    """Say whether a value is a noun for records of a kind."""
    is_noun = isinstance(value, str) and len(value.split()) <= 2
    return is_noun and kind in ("D", "T") and names_kind(value, kind)


def _kind_stated(item: Any) -> str:
    """Return the kind that an item states of itself: `type: Decision`; "" where it does not."""
    for key, value in item.items() if isinstance(item, Mapping) else ():
        kinds = [kind for kind in "DT" if _names_kind(value, kind)]
        if len(kinds) == 1 and not any(field_named(key, kind) for kind in "DT"):
            return kinds[0]
    return ""


def _records(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the id ("" if there is none) and the item of each record in a list or a mapping of ids."""
    if isinstance(value, Mapping) and not all(map(_is_id, value)) and _is_keyed(value):
        yield from ((key, _with_inner(inner)) for key, inner in value.items())
        return
    for each in value if isinstance(value, list) else [value]:
        item = _with_inner(each) if isinstance(each, Mapping) else each
        if isinstance(item, Mapping):
            names = [v for k, v in item.items() if field_named(k, "D") == "local_id"]
            codes = [v for k, v in item.items() if field_named(k, "D") in _VAGUE and _is_code(v)]
            counted = (name for name in names if _is_id(name) or re.search(r"\d", str(name)))
            if given := next(counted, "") or ("" if codes else next(iter(names), "")):
                yield bare(str(given)), item
            elif given := next(iter(codes), ""):
                yield given, Located(getattr(item, "line", 0), {k: v for k, v in item.items() if v != given})
            elif item and all(map(_is_id, item)):
                for key, inner in item.items():
                    line = getattr(inner, "line", getattr(item, "line", 0))
                    fields = inner if isinstance(inner, Mapping) else {"text": inner}
                    yield key, Located(line, fields)
            else:
                yield "", item
        else:
            match = _NAMED.match(str(item))
            yield (match["id"], match["text"]) if match else ("", item)
