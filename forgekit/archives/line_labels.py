"""Labels, brackets and arrows on the line of a record that the tagger found, beside its spans.

In: a record with its spans, and its line. Out: its words as far as the line gives them, and fields.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from forgekit.archives.claims import key_of, references
from forgekit.archives.grouping import Found
from forgekit.archives.labels import fact_named, field_named, lists_kind, names_kind, state_of_label
from forgekit.archives.notes import fields_of_note, split_labels
from forgekit.archives.records import labelled
from forgekit.archives.spans import Span
from forgekit.archives.states import end_noted

_ITEM_HEAD = re.compile(r"\s*(?:(?:[-*+\u2022]|\(?\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?[*_]{0,3}")
_NOTE = re.compile(r"[(\[\uff08]([^()\[\]\uff08\uff09]{1,80})[)\]\uff09]")
_ANSWER = re.compile(r"[\s*_]*(?:->|=>|\u2192)\s*(\S.*?)[\s|*_]*$")
_MARKS = " .*_`"
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_BEHIND_ID = " *_`:.)]|-\u2013\u2014\u3011"
_BEFORE = ("tier", "confidence", "priority", "status")
"""The fields that brackets before a record's words may give."""
RELABELLED = ("T", "res")
"""Tags of spans that a label may make a decision."""
TAGS = {
    "rationale": "why",
    "alternatives": "alt",
    "dependencies": "dep",
    "superseded_by": "by",
    "revises": "rev",
    "blocked_by": "blk",
    "resolution": "res",
}
"""Tags of fields whose values are words or names."""
_LISTED = {"why": ("rationale", " "), "alt": ("alternatives", "; "), "state": ("status", " ")}
"""Tags of a decision's fields that a label gives whole lines to, and what is put between several."""


def label_counts(lines: Sequence[str]) -> Mapping[str, int]:
    """Return how many lines begin with each label, in lower case."""
    return Counter(labelled(_ITEM_HEAD.sub("", line, count=1))[0].casefold() for line in lines)


def as_labelled(span: Span, label: str) -> Span:
    """Return a span of `RELABELLED` as a decision where the label beside it is one such as `Decision`."""
    is_text = field_named(label, "D") == "text"
    is_decision = is_text and names_kind(label, "D") and not names_kind(label, "T")
    return replace(span, tag="D", value="") if is_decision else span


def widen(each: Found, line: str, labels: Mapping[str, int]) -> None:
    """Give a record all words that are its own on its line.

    A known label such as `Decision:` gives it the whole line. Words before a colon that are no label are its
    subject, as in `Budget: 9,000 a year`; a label is known, or begins more than one line (`label_counts`).
    """
    start = _start_of_words(each, line)
    label, value = labelled(line[start:])
    words = each.words
    inside = [span for span in each.fields if span.line == words.line and span.column >= start]
    if field_named(label, each.kind) == "text" or lists_kind(label, each.kind):
        text = value.strip(" *_`|")
        if words.text in text and words.line == words.last and all(span.tag == "note" for span in inside):
            each.fields = [span for span in each.fields if span not in inside]
            each.words = replace(words, text=text, column=line.rindex(text))
    elif label and labels[label.casefold()] < 2 and not _is_known(label):
        between = line[start : words.column].removeprefix(label).strip(_MARKS)
        if words.text == label and not any(span.column > words.column for span in inside):
            sentence = re.split(r"(?<=[.;!?])\s", value, maxsplit=1)[0].rstrip(_MARKS)
            each.words = replace(words, text=f"{label}: {sentence}", column=start)
        elif words.text != label and between == ":":
            each.words = replace(words, text=f"{label}: {words.text}", column=start)


def _start_of_words(each: Found, line: str) -> int:
    """Return where words begin on a record's line, behind its marks and its id."""
    ids = (span.column + len(span.text) for span in each.all("id") if span.line == each.words.line)
    if behind := max(ids, default=0):
        return len(line) - len(line[behind:].lstrip(_BEHIND_ID))
    return len(line) - len(_ITEM_HEAD.sub("", line, count=1))


def _is_known(label: str) -> bool:
    known = (lists_kind, names_kind, state_of_label, field_named, end_noted)
    return fact_named(label) is not None or any(meets(label, kind) for meets in known for kind in "DT")


def labelled_fields(each: Found, lines: Sequence[str], kind: str) -> dict[str, str]:
    """Return reason, alternatives and state of a decision where labels begin all lines that have them."""
    found: dict[str, str] = {}
    for tag, (name, joint) in _LISTED.items() if kind == "D" else ():
        numbers = {number: None for span in each.all(tag) for number in range(span.line, span.last + 1)}
        heads = (_ITEM_HEAD.sub("", lines[number - 1], count=1) for number in numbers)
        read = [split_labels(head, kind, opening=True) for head in heads]
        pairs = (pair for lead, some in read if not lead.strip() for pair in some)
        values = [value for label, value in pairs if label == name]
        if read and len(values) == len(read):
            found[name] = joint.join(values)
    return found


def take_labelled(each: Found, lines: Sequence[str], kind: str) -> None:
    """Give a record's fields the values of known labels that the tagger took for something else.

    Such a label begins a line, or a sentence behind the record's words. An answer is not divided.
    """
    for number in sorted({span.line for span in (each.words, *each.fields)}):
        line, words = lines[number - 1], each.words
        behind = words.column + len(words.text)
        at = behind if number == words.line else len(line) - len(_ITEM_HEAD.sub("", line, count=1))
        lead, pairs = split_labels(line[at:], kind) if line.lstrip()[:1] != "|" else ("", [])
        for name, value in pairs if number == words.line or not lead.strip(" :*_") else ():
            tag, text = TAGS.get(name, ""), _SENTENCE.split(value, maxsplit=1)[0]
            at = max(line.find(value, at), at)
            inside = [s for s in each.fields if s.line == number and at <= s.column < at + len(text)]
            inside = [s for s in inside if s.tag in TAGS.values() or s.text == text.rstrip(_MARKS)]
            is_whole = tag == "res" or (tag in ("dep", "by") and not references(text))
            is_cut = is_whole and max((len(s.text) for s in inside if s.tag == tag), default=0) < len(text)
            if tag and (is_cut or all(span.tag != tag for span in inside)):
                near = inside[0] if inside else replace(words, value="", line=number, last=number)
                span = replace(near, tag=tag, text=text.rstrip(_MARKS), column=at, margin=inf)
                each.fields = [*(span for span in each.fields if span not in inside), span]


def answer_behind(each: Found, line: str) -> str:
    """Return what an arrow behind a question leads to on its line, "" where there is none."""
    _, found, behind = line.rpartition(each.words.text)
    match = _ANSWER.match(behind) if found.endswith("?") else None
    return match[1] if match else ""


def noted_before(each: Found, line: str, own: str, kind: str) -> dict[str, Any]:
    """Return the fields in brackets before a record's words: `E1 (level 2)`; `own` is the key of its id."""
    notes = (match[1].split(",") for match in _NOTE.finditer(line[: each.words.column]))
    parts = (",".join(part for part in note if key_of(part.strip()) != own) for note in notes)
    fields = [fields_of_note(part, kind) for part in parts]
    return {name: value for some in fields for name, value in some.items() if name in _BEFORE}
