"""What is beside the words of a record on its own line: brackets, marks, clauses and labels.

`title [OPEN] (high, blocked by T001)`, `title - RESOLVED: so`, `~~title~~ (superseded by D004)`,
`title - because so; depends on D001`, `Tier 0.8. Reason: so.` A bracket counts if all of it is understood;
else it stays in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from forgekit.archives.claims import (
    LOCAL_ID,
    ONLY_STARS,
    OWN_FIELDS,
    REST,
    ClaimList,
    ascii_of,
    bare,
    both,
    is_moment,
    make_claim,
    parse_decision_status,
    parse_integer,
    parse_priority,
    parse_status,
    parse_thread_status,
    parse_tier,
    references,
)
from forgekit.archives.labels import (
    BANDS,
    CONFIDENCE,
    JOINING,
    MARKS,
    OPENING,
    STATES,
    fact_named,
    field_named,
    fold,
    is_symbol,
    leading,
    letters,
)
from forgekit.archives.states import end_noted
from forgekit.model.archive_record import Family
from forgekit.model.entities import DecisionStatus, ThreadStatus, band

_BRACKETS_LIMIT, _FEWEST_CELLS = 8, 2
_NOTE_LIMIT = 160
"""Characters of a bracket, or of a text that may be nothing but a state and a rating."""
_KEY = r"(?![a-z]{3}_[0-9a-f]{12}(?![^\W_]))[^\W\d_][^\W_]*(?:(?:[ _/-]| / |['\u2019])[^\W_]+){0,4}"
"""The words of a label, which are no short id."""
_COLON = r"(?:\s?::?(?!:))"
LABEL = re.compile(
    rf"(?P<mark>[*_`]*)(?P<key>#|{_KEY})(?P<note>\s*\([^()]{{0,60}}\))?\s?(?P<shut>[*_`]*)(?P<sep>{_COLON}|\s*(?:\u2192|->|=>?)"
    rf"|\s*[\u2014\u2013]|\s+-(?=\s))(?P<after>[*_`]*)(?:\s+|$|(?<=[:=\u2192\u2014\u2013])(?=\S))"
)
_BOUND = re.compile(
    r"(?:^|[.;,?!/`*_|\u00b7\u2022\u3002\u3001\uff0c\uff1b\u2014\u2013\u2192-])[*_`-]*\s*[*_`]*(?=[^\W\d_])"
)
_WRITTEN = re.compile(r"[^\W\d_]{4}|[\u3040-\u9fff]{2}")
_NAME_REST = 3  # words behind a stop in a name
_RATED = ("tier", "confidence", "priority")
_TYPED = ("tier", "confidence", "status", "priority", "turn", "created", "turns", "tag", "project", "mode")
_TRAILING = re.compile(
    r"\s*(?P<open>[*_`]{0,2})[(\[\uff08](?P<inner>[^()\[\]\uff08\uff09]{0,160})[)\]\uff09](?P=open)\s*$"
)
_LAST_PART = re.compile(
    r"\s(?:(?P<colour>[^\w\s\x00-\x7f]{1,3})|(?:[\u00b7|\u2022/\u2013\u2014]|--?)\s+(?P<inner>[^\u00b7|\u2022\u2013\u2014]{1,160})|`(?P<code>[^`]{1,100})`)$"
)
_EMPHASIS_LAST = re.compile(
    r"\s+[\u00b7|\u2022\u2013\u2014-]\s+(?P<mark>[*_])(?P<inner>[^\W\d_][^*_:]{2,80})(?P=mark)\s*$"
)
_LEADING = re.compile(
    r"\s*(?:\*\*)?[(\[](?P<inner>[^()\[\]]{0,60})[)\]](?:\*\*)?:?(?:\s+|(?=[\u3040-\u9fff]))"
)
_SYMBOLS = re.compile(r"[^\w\s\x00-\x7f]+\s*")
_BEFORE_DASH = re.compile(r"\s*[(\[](?P<inner>[^()\[\]]{1,120})[)\]](?=\s*[\u2014\u2013:](?:\s|$)|\s+--?\s)")
_DASH = r"(?:\s*[\u2014\u2013]|\s--?(?=\s))\s*"
_TAIL = re.compile(
    rf"(?P<dash>{_DASH})|(?P<tick>(?:[\u2705\u2713\u2714\u2611]\ufe0f?|(?<=\S)~~)[\s\u2014\u2013:-]{{0,4}}[*\[(]*)"
    r"|(?P<bold>\s?\*\*[\[(]?)|(?P<bracket>\s\[(?=[A-Z]))|(?P<point>(?:[.;:,]|(?<=\?)|\s*\u2192)\s+|(?<=[?\u3002])(?=[\u3040-\u9fff]))"
)
_ENDED_REST = re.compile(
    r"\s*(?:$|[.!)\]*]+\s*$|[:,;\u2013\u2014(\])*-]|(?:in|as|via|with|on|for|durch|par|por)\s|by(?=\s+[DT]-?\d))"
)
_SHARE = re.compile(r"0?[.,]\d{1,6}|1\.0{1,6}|\d{1,3}\s?%")
_RATING = re.compile(rf"\d{{1,3}}\s?/\s?(?:5|10|100)|{ONLY_STARS.pattern}")
"""What rates a decision: `4/5`, stars."""
_CHANGE = re.compile(r"(?P<was>[^\u2192>]+?)\s*(?:->|=>|\u2192)\s*(?P<now>[^\u2192>]+)")
"""`medium -> high`: what a field was, and what it is."""
_ARROW_TO = re.compile(r"(?:->|=>|\u2192)\s*[*_`]*")
_STRUCK = re.compile(r"~~(?P<text>[^~]+)~~(?P<rest>.*)$", re.DOTALL)
_WIDE_NUMBER = re.compile(r"(?<=[\u3040-\u9fff\uac00-\ud7af])(?=\d)")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_STOP = re.compile(r"(?<!\b[^\W\d_])[.;]\s+(?=\S)|\s+[\u00b7|\u2022]\s+")
_SENTENCE = re.compile(r"(?<=[.!?;\u3002])\s+|\s+[\u00b7|/\u2022]\s+|\s+(?=`)|(?<=`)\s+|\n")
_PARTS = re.compile(r"[,;|\u00b7\u3001\uff0c\uff1b]\s*|\s+[\u2014\u2013-]\s+|\s/\s")
_CODE = re.compile(r"`[^`]*`")
_PATH = re.compile(r"[\w.*-]*[/*.][\w.*]")
_SPLIT = re.compile(r",(?!\d)|(?<!\d),|[;|\u00b7\u3001\uff0c\uff1b\u060c\u061b]|(?<=[^\W\d_])/(?=[^\W\d_])")


def annotated(
    text: str, kind: str, *, clauses: bool = False, given: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """Split the text behind an id into title and fields; with `clauses`, labels may end the title."""
    text, celled = _cells(text, kind)
    text, stated = _stated_last(text, kind)
    marks: dict[str, Any] = celled | stated | dict(given or {})
    text = _leading_marks(text.strip(), kind, marks)
    text, fields = _bracketed(text, kind, tails=not clauses)
    if clauses:
        lead, pairs = split_labels(text, kind, clauses=True)
        if pairs and lead.strip(" *_"):
            fields = {**_joined(pairs), **fields}
            text = lead.rstrip(" .,;(*_\u2014\u2013-")
            if "resolution" in fields:
                fields.setdefault("status", "resolved")
        text, more = _bracketed(text, kind, tails=True)
        fields = {**more, **fields}
    fields = {**marks, **fields}
    for match in _BEFORE_DASH.finditer(text) if kind == "D" else ():
        inner = match["inner"]
        if re.search("tier|confidence|certainty|%", inner, re.IGNORECASE) and (
            notes := fields_of_note(inner, kind)
        ):
            text, fields = text[: match.start()] + text[match.end() :], {**notes, **fields}
            break
    if (
        kind == "T"
        and "resolution" not in fields
        and parse_thread_status(str(fields.get("status", "")))[0] is ThreadStatus.RESOLVED
    ):
        text, fields = _answered(text, fields)
    return text.strip(), fields


def _cells(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split a row without a head at its bars: the first cell is the words, the others are fields."""
    first, *cells = re.split(r"\s+\|(?:\s+|$)", text.strip())
    if len(cells) < _FEWEST_CELLS or any(LABEL.match(cell) and split_labels(cell, kind)[1] for cell in cells):
        return text, {}
    fields, rest = dict[str, Any](), list[str]()
    for cell in filter(None, cells):
        named = references(cell)
        if found := {n: v for n, v in fields_of_note(cell, kind).items() if n not in fields}:
            fields |= found
        elif named and not re.search(r"[^\W\d_]{3}", re.sub("|".join(map(re.escape, named)), "", cell)):
            fields["dependencies" if kind == "D" else "blocked_by"] = cell
        elif re.search(r"\w", cell):
            rest.append(cell)
    if not fields:
        return text, {}
    return first, fields | ({REST[kind]: "\n".join(rest)} if rest else {})


def _stated_last(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split a text from the end that its last part in emphasis names: `... - *Rejected after the talk*`."""
    match = _EMPHASIS_LAST.search(text[-_NOTE_LIMIT:])
    if match is None or kind not in STATES:
        return text, {}
    inner = match["inner"]
    status = parse_status(inner, kind)
    if status is None or not status.ended:
        return text, {}
    return text.removesuffix(match.group()), {"status": match["inner"]}


def stated_beside(text: str, kind: str, local_id: str) -> tuple[str, dict[str, Any]]:
    """Split what a text states of a parent's record: its words, and the values of labels and parts in it.

    `needs: D8` is a label alone; `open, high` is a state and a priority.
    """
    lead, pairs = split_labels(text, kind)
    pairs = [pair for pair in pairs if pair[0] in OWN_FIELDS[kind]]
    raw = _joined(pairs) if pairs else {}
    words = (lead if pairs else text).strip(" *_")
    words = words if re.search(r"\w", words) else ""
    noted = _LEADING.match(words)
    notes = fields_of_note(noted["inner"], kind) if noted else {}
    words = words[noted.end() :] if noted and notes else words
    notes = notes or (fields_of_note(words, kind) if len(words) <= _NOTE_LIMIT else {})
    raw = {name: value for name, value in notes.items() if name in _RATED} | raw
    claim = make_claim(ClaimList(), local_id, raw, 0, Family.PROSE, kind=kind) if raw else None
    values = claim.values if claim else {}
    values |= {"tier": values["confidence"]} if "confidence" in values else {}
    names = {*OWN_FIELDS[kind], "tier_token"} - {"confidence"}
    return words, {name: value for name, value in values.items() if name in names}


def _joined(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields with their values: the first of a name, or all of one that may be joined."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields[name] = both(name, fields[name], value) if name in fields else value
    return fields


def _bracketed(text: str, kind: str, *, tails: bool) -> tuple[str, dict[str, Any]]:
    """Take the brackets behind a title, and what is stated about a thread behind it."""
    fields: dict[str, Any] = {}
    for _ in range(_BRACKETS_LIMIT):
        matches = [m for m in (_TRAILING.search(text[-240:]), _LAST_PART.search(text[-240:])) if m]
        noted = ((m.group(), fields_of_note(m[m.lastgroup or 0], kind)) for m in matches)
        found, notes = next((pair for pair in noted if pair[1]), ("", {}))
        if notes:
            text = text.removesuffix(found)
        elif tails and kind == "T" and (tail := _tail(text)):
            text, notes = tail
        else:
            break
        fields = {**notes, **fields}
    rest, notes = split_note(matches[0][matches[0].lastgroup or 0], kind) if matches else ("", {})
    if len(notes) > 1:  # a bracket with two fields and something else
        text, fields = f"{text.removesuffix(matches[0].group())} ({rest})", {**notes, **fields}
    return text, fields


def _answered(text: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Split a resolved question from the answer behind its question mark or a dash."""
    match = re.match(
        r"(?P<title>[^?]+\?)\s+(?:[\u2014\u2013\u2192-]+>?\s+)?(?P<answer>[^?]+)$|(?P<before>.+?)\s[\u2014\u2013\u2192]\s(?P<behind>.+)$",
        text,
    )
    if match is None:
        return text, fields
    title, answer = match["title"] or match["before"], match["answer"] or match["behind"]
    return title, {**fields, "resolution": answer}


def _leading_marks(text: str, kind: str, fields: dict[str, Any]) -> str:
    """Take the boxes, symbols and brackets before a title, and the strike through it."""
    for _ in range(4):
        box = re.match(r"\[([ xX\u2713-])\]\s+", text)
        symbol = _SYMBOLS.match(text) if text and is_symbol(text[0]) else None
        match = _LEADING.match(text)
        word = re.match(r"([A-Z]{4,})\b[\s:\u2014\u2013-]+(?=\S)", text) if kind == "T" else None
        if word and parse_thread_status(word[1])[0] is not None:
            fields.setdefault("status", word[1])
            text = text[word.end() :]
        elif box:
            if box[1] != " " and kind == "T":
                fields.setdefault("status", "resolved")
            text = text[box.end() :]
        elif symbol:
            state = next((MARKS[c] for c in symbol.group() if c in MARKS), None)
            if state and (kind == "T" or state is ThreadStatus.ABANDONED):
                fields.setdefault("status", str(state.value))
            elif kind == "T" and parse_priority(symbol.group()) and "\U0001f7e2" not in symbol.group():
                fields.setdefault("priority", symbol.group())
            text = text[symbol.end() :]
        elif match and (notes := fields_of_note(match["inner"], kind)):
            fields.update(notes)
            text = text[match.end() :]
        else:
            break
    return _without_strike(text, kind, fields)


def _without_strike(text: str, kind: str, fields: dict[str, Any]) -> str:
    """Take the strike through a title, which shows that it ended, and what is behind it."""
    struck = _STRUCK.fullmatch(text)
    rest = struck["rest"].strip() if struck else ""
    symbol = _SYMBOLS.match(rest)
    if symbol and is_symbol(rest[0]) and not any(c in MARKS for c in symbol.group()):
        rest = rest[symbol.end() :]
    arrow = _ARROW_TO.match(rest)
    if struck and (
        not rest
        or arrow
        or rest[0] in "\u2014\u2013-:([*\u2705\u2713\u2714"
        or _ended(rest, kind) is not None
    ):
        notes = fields_of_note(rest.strip(" \u2014\u2013-:()[]*"), kind)
        if arrow and LOCAL_ID.match(ascii_of(rest), arrow.end()) and kind == "D":
            notes = {"status": "superseded", "superseded_by": rest[arrow.end() :].strip(" *_`.")}
        if not notes and kind == "T":
            notes = (_tail(f"x \u2014 {rest[arrow.end() if arrow else 0 :].lstrip(' -:')}") or ("", {}))[1]
        fields.update({k: v for k, v in notes.items() if k not in fields})
        fields.setdefault("status", "resolved" if kind == "T" else "rejected")
        return struck["text"].strip().removesuffix(":")
    return text


def _ended(text: str, kind: str) -> str | None:
    """Return what is behind the word of an end that a text begins with, else None."""
    status = parse_status(text, kind)
    if status is None or not status.ended or not re.match(r"[*\[(]*[^\W\d_]", text):
        return None
    rest = leading(text.lstrip("*[("), STATES[kind])[1]
    return rest if _ENDED_REST.match(ascii_of(rest)) else None


def _tail(text: str) -> tuple[str, dict[str, Any]] | None:
    """Split a thread's title from what is stated about it behind a dash, a stop, a tick or a strike."""
    plain = ascii_of(text)
    for match in _TAIL.finditer(plain[:4000]):
        title, tail = text[: match.start()].removeprefix("~~").strip(), text[match.end() :]
        if not title.strip("*~ "):
            continue
        rest = _ended(tail, "T")
        if match["tick"] and (rest is not None or not tail.strip(" *")):
            return title.removesuffix("~~").strip(), _end(tail, rest or "")
        if rest is not None and (match["dash"] or match["bold"] or match["bracket"] or rest.strip(" .!*)]")):
            return title, _end(tail, rest)
    return None


def _end(tail: str, rest: str) -> dict[str, Any]:
    text = rest.lstrip(" *:\uff1a;,.\u2013\u2014\u2192>-])").rstrip(" *")
    text = text[1:-1] if text[:1] + text[-1:] in ("()", "[]") else text
    if text.count(")") > text.count("(") or text.count("]") > text.count("["):
        text = text[:-1]
    status = parse_thread_status(tail)[0] if tail.strip(" *") else None
    word = status.value if status else "resolved"
    return {"status": word, **({"resolution": text.strip("([ ")} if text.strip("])([ ") else {})}


def beside(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split what is beside or below a title into fields and the sentences that are none."""
    text, stated = _stated_last(text, kind)
    lead, pairs = split_labels(text, kind, clauses=True)
    fields = stated | _joined(pairs)
    kept: list[str] = []
    for sentence in _SENTENCE.split(lead):
        note = _TRAILING.search(sentence.rstrip(" ."))
        noted = fields_of_note(note["inner"], kind) if note and note.start() else {}
        if noted:
            fields = noted | fields
        words = sentence[: note.start()] if note and noted else sentence
        plain = words.strip(" .;,\u00b7|`*_()[]\u2014\u2013-")
        parts = [part.strip(" `*_()[]") for part in _PARTS.split(plain)]
        found = [_field_of_part(part, kind) for part in parts if part]
        if found and all(found):
            for each in found:
                fields = {**each, **fields}
        elif plain:
            kept.append(words.strip(" ,\u00b7|").lstrip("; "))
    if "band" in fields:
        fields.setdefault("tier", fields.pop("band"))
    if "resolution" in fields:
        fields.setdefault("status", "resolved")
    return " ".join(kept).rstrip(" ;"), fields


def split_note(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split a bracket between an id and its title into text that is no field, and fields."""
    inner = text.strip(" `()[]\uff08\uff09")
    if fields := fields_of_note(inner, kind):
        return "", fields
    parts = [part.strip() for part in _parts(inner)]
    known = [part for part in parts if fields_of_note(part, kind)]
    if any(field_named(part.split()[0], kind) == "tier" for part in parts if part and part not in known):
        return inner, {}
    if fields := fields_of_note(", ".join(known), kind):
        return ", ".join(part for part in parts if part and part not in known), fields
    return inner, {}


def _parts(inner: str) -> list[str]:
    """Return the parts of a bracket; code in it is whole."""
    masked = _CODE.sub(lambda match: "x" * len(match.group()), inner)
    cuts = [(0, 0), *(match.span() for match in _SPLIT.finditer(masked)), (len(inner), len(inner))]
    return [inner[end:start] for (_, end), (start, _) in pairwise(cuts)]


def fields_of_note(inner: str, kind: str) -> dict[str, Any]:
    """Return the fields of a bracket, or {} if any part of it is something else."""
    inner = ascii_of(inner.strip())
    parts = [part for part in map(bare, _parts(inner)) if part]
    fields, unknown = dict[str, Any](), list[str]()
    for part in parts:
        found, last = _field_of_part(part, kind), next(reversed(fields), "")
        is_id = last in ("blocked_by", "dependencies", "revises") and LOCAL_ID.fullmatch(part)
        is_more = last in ("alternatives", "tags", "rationale") or (last == "status" and references(part))
        label = LABEL.match(part)
        if not found and (is_id or (is_more and not label)):  # rejected: island, galley
            found = {last: f"{fields[last]}, {part}"}
        if not found and label and ":" in label["sep"]:
            found, unknown = {}, [*unknown, part]
        elif not found:
            return _end_in_note(inner, kind)
        fields.update(found)
    if "resolution" in fields:
        fields.setdefault("status", "resolved")
    if unknown and fields:
        fields[REST[kind]] = "; ".join(unknown)
    if not _agrees_with_band(fields):
        return {}
    return (
        fields
        if len(parts) > 1 or (fields and "status" not in fields)
        else _end_in_note(inner, kind) or fields
    )


def _end_in_note(inner: str, kind: str) -> dict[str, Any]:
    """Return how a bracket that is one phrase states that the record ended."""
    if kind == "T":
        rest = _ended(inner, kind)
        return {} if rest is None else _end(inner, rest)
    status = parse_decision_status(inner) if kind == "D" and " " in inner else None
    if status is DecisionStatus.REVISED and not references(inner):
        return {"context": inner}  # of what it was, and not that it ended
    is_end = status is not None and status.ended and (references(inner) or _ended(inner, kind) is not None)
    return {"status": inner} if is_end else {}


def _agrees_with_band(fields: dict[str, Any]) -> bool:
    """Take the word of a band as the tier, or say that the number beside it is in another band."""
    named_band = fields.pop("band", "")
    if not named_band:
        return True
    try:
        tier, _ = parse_tier(fields.setdefault("tier", named_band))
    except ValueError:
        return False
    return tier is not None and band(tier) is band(parse_tier(named_band)[0] or 0.0)


def _field_of_part(part: str, kind: str) -> dict[str, Any]:
    """Return the field that a part of a bracket names, or {}."""
    part = _WIDE_NUMBER.sub(" ", part.replace("*", ""))
    change = _CHANGE.fullmatch(part)
    now = _field_of_part(change["now"], kind) if change else {}
    if change and now.keys() == _field_of_part(change["was"], kind).keys():
        return now
    words = part.casefold().split()
    if pair := _labelled(part, kind):
        return pair
    if kind == "D":
        if words[1:] in ([], ["tier"]) and leading(part, BANDS)[0] is not None:
            return {"band": words[0]}
        value, rest = leading(part, CONFIDENCE)
        if value is not None and (not rest.strip() or field_named(rest, "D") == "confidence"):
            return {"confidence": part}
    if _SHARE.fullmatch(part) or (kind == "D" and _RATING.fullmatch(part)):
        return {"tier": part}
    if len(words) > 4:
        return {}
    status = parse_status(part, kind)
    if kind != "D" and len(words) <= 2 and parse_priority(part) and not status:
        named = len(words) == 1 or field_named(words[1], "T") == "priority"
        return {"priority": words[0]} if named else {}
    rest = leading(part, STATES[kind])[1].strip() if kind in STATES else ""
    names = bool(references(part))
    if status:
        is_state = (len(words) <= 2 and not rest) or names  # `(new vendor)` is no state
    else:
        is_written = kind in STATES and _WRITTEN.search(part) is not None
        is_state = is_written and not names and end_noted(part, kind) != ""
    return {"status": part} if is_state else {}


def _labelled(part: str, kind: str) -> dict[str, Any]:
    """Return the field of `priority: high`, `tier 0.8`, `blocked by T001` or `supersedes D001`."""
    lead, pairs = split_labels(part, kind, clauses=True)
    if lead.strip() or len(pairs) != 1:
        return {}
    name, value = pairs[0]
    if name in ("tier", "confidence"):
        try:
            parse_tier(value)
        except ValueError:
            return {name: value} if leading(value, CONFIDENCE)[0] is not None else {}
    elif (
        (name == "priority" and parse_priority(value, ranked=True) is None)
        or (name == "turn" and parse_integer(value) is None)
        or (name in ("revises", "dependencies", "superseded_by") and not references(value))
    ):
        return {}
    elif name == "superseded_by":
        return {"status": f"superseded by {value}"}
    elif name in ("text", "scope", "ignored", "content", "context"):
        return {}
    return {name: value}


def split_labels(
    text: str, kind: str, *, clauses: bool = False, opening: bool = False
) -> tuple[str, list[tuple[str, str]]]:
    """Split a text at the labels in it: what is before the first, and (field, value) of each.

    A label is at the beginning or behind a stop, a dash or a bracket. It has a colon; or its value is
    one that its field has (`tier 0.8`); or, if `clauses`, it is a joining word (`because`, `depends on`).
    If `opening`, bold labels behind the first are parted even if no field has them.
    Kind "" is for what an archive states about itself.
    """
    plain = ascii_of(text)
    marks: list[tuple[int, int, str]] = []
    reached = depth = seen = 0
    brackets = "(" in plain or "[" in plain
    for bound in _BOUND.finditer(plain):
        first = bound.start()
        apart = not first or plain[first - 1].isspace()
        if plain[first] in "/`-*_" and not apart:
            continue
        if plain[first] in "-/" and not plain[first + 1 : first + 3].strip("-")[:1].isspace():
            continue
        if brackets:
            between = plain[seen:first]
            depth += between.count("(") + between.count("[") - between.count(")") - between.count("]")
            seen = first
        if bound.end() < reached or depth > 0:
            continue
        found = _label_at(plain, bound.end(), kind, clauses=clauses or (opening and first == 0)) or (
            _bold_label(plain, bound.end()) if opening and marks else None
        )
        is_clause = found and opening and not clauses and ":" not in plain[: found[0]]
        if found and not (is_clause and found[1] in ("alternatives", "blocked_by")):
            marks.append((first + (plain[first] in "?!"), *found))
            reached = found[0]
    if not marks:
        return text, []
    ends = [start for start, _, _ in marks[1:]] + [len(text)]
    lead, pairs = text[: marks[0][0]], list[tuple[str, str]]()
    for (first, start, name), end in zip(marks, ends, strict=True):
        value, rest = text[start:end], ""
        joined = clauses and name == "blocked_by" and not re.search(r"[:=\uff1a]\W*$", text[first:start])
        if joined or (name in _TYPED and not (name == "project" and _is_name(value))):
            # Such a value ends with its sentence.
            value, rest = _first_sentence(value, kind if joined else "")
        lead = f"{lead.rstrip()}{'. ' if lead[-1:].isalnum() else ' '}{rest}" if rest else lead
        pairs.append((name, _value(value)))
    return lead, [pair for pair in pairs if pair[1]]


def _is_name(value: str) -> bool:
    """Say whether a value with a stop is one name, as `St. Mary's Hall` is: few words follow the stop."""
    stop = re.search(r"[.;]\s+", value := value.strip(" *_"))
    rest = value[stop.end() :] if stop else ""
    return bool(rest) and len(rest.split()) <= _NAME_REST and not re.search(r"[.:|\u00b7\u2022]", rest)


def _first_sentence(value: str, kind: str) -> tuple[str, str]:
    """Split a value behind its first sentence and, for a kind, before the fields at the end of that."""
    stop = _STOP.search(value)
    value, rest = (value[: stop.start()], value[stop.end() :]) if stop else (value, "")
    while (
        kind and "," in value and _field_of_part((part := value.rpartition(","))[2].strip(" .") or "-", kind)
    ):
        value, rest = part[0], f"{part[2].strip(' .')}. {rest}"
    return value, rest


def _value(text: str) -> str:
    value = text.strip()
    value = value if value.endswith(("/*", "/**")) else value.strip("*_").strip(" ;,|\u00b7\u2022")
    shut = value.endswith((")", "]")) and value.count("(") + value.count("[") < value.count(
        ")"
    ) + value.count("]")
    return value[:-1] if shut else value


def _label_at(plain: str, place: int, kind: str, *, clauses: bool) -> tuple[int, str] | None:
    """Return where the value of a label at a place begins, and the label's field."""
    match = LABEL.match(plain, place)
    look_up = (lambda label: field_named(label, kind)) if kind else fact_named
    bold = place > 1 and plain[place - 2 : place] == "**"
    if match and (bold or match["sep"].strip() in (":", "::", "=")) and (name := look_up(match["key"])):
        return match.end(), name
    first = _WORD.match(plain, place)
    if not first or (letters(first.group()) not in OPENING[kind] and plain[place].isascii()):
        return None
    ends = [word.end() for word in _WORD.finditer(plain, place, place + 60)]
    for end in reversed(ends[:4]):
        label = plain[place:end]
        name = (JOINING[kind].get(fold(label)) if kind else None) or ""
        value = plain[end : end + 200].lstrip(" *_`([")
        if name and plain[end : end + 1] in (" ", "'"):
            free = clauses and name in ("rationale", "alternatives", "blocked_by")
            free = free or (name == "governs" and _PATH.match(value) is not None)
            if free or value.startswith(references(value)[:1]):
                return end, name
        name = look_up(label) or ""
        if (
            name in _TYPED
            and plain[end : end + 1] == " "
            and _has_value(name, kind, plain[end : end + 80].strip())
        ):
            return end, name
    return None


def _bold_label(plain: str, place: int) -> tuple[int, str] | None:
    """Return where the value of a bold label at a place begins, and the label."""
    label = LABEL.match(plain, place) if place > 1 and plain[place - 2 : place] == "**" else None
    return (label.end(), label["key"]) if label else None


def _has_value(name: str, kind: str, value: str) -> bool:
    if name == "status":
        return kind in STATES and leading(value, STATES[kind])[0] is not None
    if name in ("tier", "confidence"):
        return re.match(r"[01]?[.,]\d|\d{1,3}\s?%|[123](?!\w|[.,]\d)", value) is not None
    if name in ("tag", "project", "mode"):
        return (name == "tag" and re.match(r"`?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", value) is not None) or value[
            :1
        ] == "*"
    if name == "created":
        return is_moment(value)
    return bool(parse_priority(value, ranked=True)) if name == "priority" else value[:1].isdigit()
