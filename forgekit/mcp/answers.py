"""The form of what each tool answers, by its operation or the view behind it, and its text. Pure.

The keys are those of `forgekit.insight.views`; a test holds every answer against its schema. Records have the
fields of their kind, as `docs/FORMAT.md` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from forgekit.console import one_line

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer"}
_OBJECT: Schema = {"type": "object"}
_FLAG: Schema = {"type": "boolean"}
_MAYBE: Schema = {"type": ["string", "null"]}
_LIST: Schema = {"type": "array"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}


class Answer(NamedTuple):
    """The form of an answer.

    Attributes:
        keys: schema of each key; all are there.
        rows: the key of its list, "" where it is none.
        line: the keys of a row that its one line shows.
        more: whether a record's own fields are there too.
    """

    keys: Mapping[str, Schema]
    rows: str = ""
    line: tuple[str, ...] = ()
    more: bool = False

    @property
    def text(self) -> str:
        """The key of its text where it is nothing else, else ""."""
        [first, *others] = self.keys
        return first if not others and self.keys[first] == _TEXT and not self.more else ""

    @property
    def schema(self) -> Schema:
        """The JSON schema."""
        paged = {"next": _MAYBE | {"description": "Pass it as `cursor` for the rows that follow."}}
        keys = {**self.keys, **(paged if self.rows else {})}
        return {
            "type": "object",
            "properties": keys,
            "required": list(keys),
            "additionalProperties": self.more,
        }


def _rows(*keys: str) -> Schema:
    return {"type": "array", "items": {"type": "object", "required": list(keys)}}


_WRITTEN: Mapping[str, Schema] = {
    "id": _TEXT,
    "short_id": _TEXT,
    "commit": _MAYBE,
    "dry_run": _FLAG,
    "written": _TEXTS,
    "conflicts": _rows("short_id", "texts", "level", "probability"),
}
ANSWERS: Mapping[str, Answer] = {
    "search": Answer(
        {"query": _TEXT, "mode": _TEXT, "notice": _TEXT, "hits": _rows("kind", "short_id", "title")},
        "hits",
        ("short_id", "status", "project_name", "title"),
    ),
    "answer": Answer({"notice": _TEXT}, more=True),
    "shown": Answer({"short_id": _TEXT, "kind": _TEXT, "path": _TEXT, "provenance": _OBJECT}, more=True),
    "status": Answer({"root": _TEXT, "projects": _LIST, "open_conflicts": _COUNT}, more=True),
    "explained": Answer(
        {
            "paths": _TEXTS,
            "decisions": _rows("short_id", "decision", "governs", "conflicts", "stale", "marks"),
            "conventions": _rows("short_id", "convention", "scope", "paths"),
            "notice": _TEXT,
        },
        "decisions",
        ("short_id", "project_name", "decision", "marks"),
    ),
    "trace": Answer({"rows": _LIST}, "rows", ("depth", "source_conversation_id", "target_conversation_id")),
    "listing": Answer(
        {"rows": _rows("short_id", "kind")}, "rows", ("short_id", "status", "probability", "texts")
    ),
    "stale": Answer(
        {
            "stale": _rows("short_id", "decision", "days", "reasons"),
            "needs_revalidation": _rows("decision_id", "why"),
            "governs_no_file": _rows("decision_id", "governs"),
            "active": _COUNT,
            "share": {"type": "number"},
        },
        "stale",
        ("short_id", "days", "project_name", "decision"),
    ),
    "written": Answer(
        {
            **_WRITTEN,
            "replacements": _rows("short_id", "texts"),
            "new_projects": _rows("name", "did_you_mean"),
        }
    ),
    "compaction_status": Answer(
        {
            "tokens_used": _COUNT,
            "compaction_risk": {"type": "string", "enum": ["low", "medium", "high", "occurred"]},
            "preserved_anchors": _COUNT,
            "anchors": _OBJECT,
            "session": _TEXT,
        },
        more=True,
    ),
    "block": Answer({"text": _TEXT}),
    "context": Answer({"context_text": _TEXT}),
    "filed": Answer({"commit": _MAYBE, "created": _LIST, "conflicts": _LIST}, more=True),
}


def lines(answer: Answer, found: Mapping[str, Any]) -> str:
    """Return an answer as text: of a list one line a row, a block as it is, else JSON."""
    if answer.text:
        return str(found[answer.text])
    if not answer.rows:
        return json.dumps(found, ensure_ascii=False)
    rows = [
        " | ".join(_cell(row.get(key)) for key in answer.line).removesuffix(" | ")
        for row in found[answer.rows]
    ]
    rest = {key: value for key, value in found.items() if key != answer.rows and value not in (None, "", [])}
    return "\n".join([*rows, json.dumps(rest, ensure_ascii=False)] if rest else rows or ["nothing"])


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(map(_cell, value))
    return "" if value is None else one_line(str(value))
