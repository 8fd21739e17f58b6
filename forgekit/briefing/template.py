"""What forgekit asks a model to write: an archive to fill in, and how to fill it in."""

from __future__ import annotations

from textwrap import indent

_RECORDS = """\
## Decision Log

### D001: Use MQTT between sensors and gateway
- **Status:** active
- **Tier:** 0.8
- **Rationale:** The sensors sleep, and a broker keeps what they miss.
- **Alternatives rejected:** AMQP; polling over HTTP
- **Depends on:** dec_0123456789ab

## Open Threads

### T001: How long does the broker keep messages?
- **Status:** open
- **Priority:** high
"""

_ARCHIVE = f"""\
# Conversation Archive: Sensor protocol

**Compression Tag:** SENSOR_PROTOCOL_CHOSEN
**Project:** Sensors
**Date:** 2026-01-31
**Continues:** SENSOR_STUDY_RESULT

## Summary

Two or three sentences: what the conversation was about, and what came of it.

{_RECORDS}
### T002: Who pays for the gateway?
- **Status:** resolved: the operations budget
- **Blocked by:** T001

## Artifacts

### A001: broker.conf
- **Type:** configuration
- **Summary:** The broker's settings that were tested.

## Insights

- What was learnt that is neither a decision nor a thread.
"""

INSTRUCTIONS = f"""\
### How To Write The Archive

One Markdown document with a tag (`**Compression Tag:** WORDS_LIKE_THIS`), the project, the date, the tag
that it continues, and records like these:

{indent(_RECORDS, "    ")}

- Record what this conversation decided, changed or restated; the rest stays in the registry.
- To change or restate something above, name its id: `### dec_0123456789ab: its text`. New ones get new ids.
- States: active, superseded by D002, rejected; open, resolved: how, blocked by T002, abandoned.
- Tier: 0 to 1; speculative below 0.25, validated from 0.75.
- Revalidation required: restate it if this conversation checked it, else leave it out.
- Conflicts: carry neither side. If the user chose, record the choice with `**Supersedes:** dec_...`."""


def template(kind: str) -> str:
    """Return the text of a kind to fill in."""
    return {"archive": _ARCHIVE}[kind]
