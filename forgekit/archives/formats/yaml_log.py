"""YAML logs: decisions, threads and artifacts written as YAML, and the context around them.

A log that YAML refuses is salvaged record by record: each `- id:` item is read by itself, once as it
is and once with its one-line values quoted, because an unquoted `: ` inside a value is the usual slip.
What stays unreadable is named with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from forgekit.archives.claims import LOCAL_ID, RECORDS_LIMIT, ClaimList, bare, make_claim, text_of
from forgekit.archives.document import fold
from forgekit.errors import FormatError
from forgekit.model.archive_record import Family
from forgekit.text.frontmatter import ENTITY_LIMIT, Located, load_yaml

_THREADS = {"open threads", "threads", "active threads", "resolved threads"}
_DECISIONS = {"decisions", "decisions made", "decision log"}
_RECORDS = {*_THREADS, *_DECISIONS, "artifacts", "artifacts produced"}
_ROOTS = {
    *_RECORDS,
    "conversation state",
    "inherited context",
    "compression scope",
    "external store",
    "retrieval triggers",
    "compression mode",
}
_NO_RECORDS = {"inherited context", "external store", "retrieval triggers", "carried decisions", "in context"}
_STATUS = {"open threads": "open", "active threads": "open", "resolved threads": "resolved"}
_CARRIED = {"carried decisions"}

_LEADING_TABS = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)
_ITEM = re.compile(r"( *)- +id *: *(\S.*)?$")
_KEY = re.compile(r"( *)(?:- +)?([A-Za-z_][\w -]{0,60}?) *:(?: |$)")
_VALUE = re.compile(r"( *(?:- +)?[A-Za-z_][\w-]{0,60}): +(\S.*)$")
_OF_ARCHIVE = re.compile(
    r"id[\"']?\s*:\s*[\"'`]?(?:OT|[DTA])\d{1,4}\b|\b(?:OT\d{3}|[DTA]\d{3,4})[\"']?\s*:"
    r"|compress(?:ed|ion)[_ ]tag",
    re.IGNORECASE,
)


def is_log(info: str, content: str, *, in_record: bool) -> bool:
    """Say whether a fence holds YAML of an archive: by its info string, or by a known first key.

    Under a record's own heading one with an info string is an example, unless it names local ids or a tag.
    """
    if info in ("yaml", "yml", "json"):
        return not in_record or _OF_ARCHIVE.search(content) is not None
    first = next((line for line in content.splitlines() if line.strip() not in ("", "---")), "")
    return info == "" and first.rstrip().split(":")[0].replace("_", " ") in _ROOTS


def read_log(
    found: ClaimList, text: str, first_line: int, family: Family = Family.YAML, *, carried_only: bool = False
) -> list[Mapping[str, Any]]:
    """Read the records of a YAML text.

    Args:
        found: receives claims and problems.
        text: the YAML, without fences.
        first_line: the line number of its first line.
        family: what its claims count as.
        carried_only: nothing in it is the archive's own.

    Returns the mappings that could be read whole.
    """
    text = _LEADING_TABS.sub(lambda m: m.group().replace("\t", "  "), text)
    if len(text) > ENTITY_LIMIT:
        documents: list[Any] = []
        error: FormatError | None = FormatError(f"longer than {ENTITY_LIMIT:,} characters", line=first_line)
    else:
        try:
            documents, error = load_yaml(text, first_line), None
        except FormatError as e:
            documents, error = [], e
    maps: list[Mapping[str, Any]] = [document for document in documents if isinstance(document, Located)]
    if error is not None:
        maps = _salvage(found, text, first_line, error, family, carried_only=carried_only)
    elif not maps and (listed := [item for one in documents if isinstance(one, list) for item in one]):
        maps = [Located(first_line, {"decisions": listed})]
    for document in maps:
        _walk(found, document, family, carried=carried_only)
    return maps


def _walk(found: ClaimList, document: Mapping[str, Any], family: Family, *, carried: bool) -> None:
    """Take the records out of a mapping and the mappings in it; depth is bounded by the YAML reader."""
    for key, value in document.items():
        name = fold(key)
        inherited = carried or name in _NO_RECORDS
        if name in _CARRIED or (name in _RECORDS and not inherited):
            _take(found, name, value, family, carried=inherited)
        elif isinstance(value, Mapping):
            _walk(found, value, family, carried=inherited)
        elif isinstance(value, list) and not inherited and _looks_like_records(value):
            _take(found, name, value, family, carried=False)


def _looks_like_records(value: list[Any]) -> bool:
    return any(
        isinstance(item, Mapping) and LOCAL_ID.fullmatch(bare(str(item.get("id", ""))).upper())
        for item in value
    )


def _take(found: ClaimList, name: str, value: Any, family: Family, *, carried: bool) -> None:
    for item in _records(value):
        line = getattr(item, "line", None) or 0
        if isinstance(item, Mapping):
            raw = {key: inner for key, inner in item.items() if fold(key) not in ("id", "local id")}
            given = next((v for k, v in item.items() if fold(k) in ("id", "local id")), "")
        else:
            raw, given = {"title": item}, ""
        if name in _STATUS and not any(fold(key) == "status" for key in raw):
            raw["status"] = _STATUS[name]
        local_id = bare(str(given)).upper()
        if LOCAL_ID.fullmatch(local_id):
            make_claim(found, local_id, raw, line, family, carried=carried)
        elif name in _THREADS and not local_id:
            title = next((v for k, v in raw.items() if fold(k) in ("title", "description")), "")
            found.unnumbered.append((line, text_of(title), raw))
        elif text_of(item):
            what = f"the id {local_id[:40]!r}" if local_id else "no id"
            found.warn("unreadable-record", f"a record under {name!r} has {what}", line or None, "D001, T001")


def _records(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            fields = inner if isinstance(inner, Mapping) else {"text": inner}
            yield Located(getattr(inner, "line", getattr(value, "line", 0)), {"id": key, **fields})


def _salvage(
    found: ClaimList, text: str, first_line: int, error: FormatError, family: Family, *, carried_only: bool
) -> list[Mapping[str, Any]]:
    """Read `- id:` items one by one; return the plain `key: value` lines outside of them as one mapping."""
    lines = text.split("\n")
    place = error.line or first_line
    outside = Located(first_line)
    read = lost = 0
    path: list[tuple[int, str]] = []
    number = 0
    while number < len(lines) and read + lost < RECORDS_LIMIT:
        line = lines[number]
        item = _ITEM.match(line)
        if item is None:
            key = _KEY.match(line)
            if key:
                _descend(path, len(key.group(1)), key.group(2))
                value = line[key.end() :].strip()
                if value and value[0] not in "|>[{&*!" and len(path) <= 2:
                    outside.setdefault(key.group(2), value)
            number += 1
            continue
        end = _end_of_item(lines, number, len(item.group(1)))
        names = [fold(name) for indent, name in path if indent <= len(item.group(1))]
        record = _read_item(lines[number:end], first_line + number)
        if record is None:
            lost += 1
            name = bare(item.group(2) or "")[:20]
            found.warn(
                "unreadable-record",
                f"the record {name} is not YAML; it was left out",
                first_line + number,
                "quote values that hold a colon",
            )
        else:
            read += 1
            carried = carried_only or any(name in _NO_RECORDS for name in names)
            if not carried or names[-1:] == ["carried decisions"]:
                _take(found, names[-1] if names else "decisions", [record], family, carried=carried)
        number = end
    fix = "" if lost else "quote values that hold a colon"
    found.warn("damaged-yaml", f"{error.message}; {read} records were read one by one", place, fix)
    return [outside]


def _descend(path: list[tuple[int, str]], indent: int, name: str) -> None:
    while path and path[-1][0] >= indent:
        path.pop()
    path.append((indent, name))


def _end_of_item(lines: list[str], start: int, indent: int) -> int:
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            return number
    return len(lines)


def _read_item(lines: list[str], first_line: int) -> Located | None:
    for attempt in (lines, [_quoted(line) for line in lines]):
        try:
            documents = load_yaml("\n".join(attempt), first_line)
        except FormatError:
            continue
        if documents and isinstance(documents[0], list) and isinstance(documents[0][0], Located):
            return documents[0][0]
    return None


def _quoted(line: str) -> str:
    match = _VALUE.match(line)
    if match is None or match.group(2)[0] in "\"'[{|>":
        return line
    return f"{match.group(1)}: '{match.group(2).rstrip().replace(chr(39), chr(39) * 2)}'"
