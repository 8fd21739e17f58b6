"""The events of agents' sessions as they are kept: one file of lines each, which only grows.

A file can be deleted at any time: the transcript gives it again. A line that a crash tore, and all
behind the last mark, is read again from the transcript.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from forgekit.compaction.anchors import Anchor
from forgekit.compaction.events import Event, EventKind
from forgekit.text.plain import from_plain
from forgekit.transcripts.agent_events import EventReader
from forgekit.transcripts.values import mapping, mappings
from forgekit.worktree.local_state import make_private, path_hash, read_json, write_json

MOST_EVENTS, MOST_LASTING = 3_000, 500
"""Events of a session that are kept, and of earlier ones prompts, tasks and compactions."""
MOST_SESSIONS = 200
_LASTING = {EventKind.PROMPT, EventKind.TASK, EventKind.TASKS, EventKind.BOUNDARY, EventKind.SUMMARY}
_HEAD, _FORMAT = 1_024, b"4"
_TYPES: dict[str, type] = dict.fromkeys(Event._fields, str)
_TYPES |= {"turn": int, "tokens": int, "failed": bool}


class KeptSession(NamedTuple):
    """What is known of a session.

    Attributes:
        statements: what the reader found in its first `read_turns` turns.
        window: tokens of the model's context that the agent named; 0 where it named none.
        risk: of a compaction that its user knows of.
    """

    events: tuple[Event, ...] = ()
    statements: tuple[Anchor, ...] = ()
    read_turns: int = 0
    window: int = 0
    risk: str = "low"


def kept_session(folder: Path, transcript: Path) -> KeptSession:
    """Return what is known of a session, after its new events were read and kept.

    Args:
        transcript: a session's file of lines; of one that is gone, what was kept is known.

    Raises OSError where the transcript cannot be read.
    """
    path = _path(folder, transcript)
    if path.exists() and not transcript.exists():
        return _with_facts(path, _loaded(path)[0])
    with transcript.open("rb") as stream:
        head = hashlib.sha256(_FORMAT + stream.read(_HEAD)).hexdigest()[:16]
        events, reader = _loaded(path, head, transcript.stat().st_size)
        stream.seek(reader.offset)
        known, most = len(events), 2 * MOST_EVENTS
        for event in reader.read(stream):
            events.append(event)
            if len(events) > most:
                events, known = thinned(events), 0
                most = len(events) + MOST_EVENTS
        events = thinned(events) if known == 0 else events
    if len(events) > known or not path.exists():
        mark = {"offset": reader.offset, "turn": reader.turn, "usage": list(reader.usage), "head": head}
        make_private(folder)
        if known == 0:
            path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            lines = (json.dumps(_row(event), ensure_ascii=False) + "\n" for event in events[known:])
            file.write("".join([*lines, json.dumps(mark), "\n"]))
        _forget(folder)
    return _with_facts(path, events)


def _with_facts(path: Path, events: Sequence[Event]) -> KeptSession:
    """Return the events of a session with what is kept beside them."""
    facts = read_json(path.with_suffix(".facts"))
    read, window = facts.get("read_turns"), facts.get("window")
    return KeptSession(
        events=tuple(events),
        statements=tuple(_statements(facts.get("statements"))),
        read_turns=read if isinstance(read, int) else 0,
        window=window if isinstance(window, int) else 0,
        risk=str(facts.get("risk") or "low"),
    )


def thinned(events: Sequence[Event]) -> list[Event]:
    """Return the newest `MOST_EVENTS`, and of those before what lasts; summaries without their text."""
    older = (event for event in events[:-MOST_EVENTS] if event.kind in _LASTING)
    lasting = [event._replace(text="") if event.kind is EventKind.SUMMARY else event for event in older]
    return [*lasting[-MOST_LASTING:], *events[-MOST_EVENTS:]]


def keep_facts(folder: Path, transcript: Path, **facts: Any) -> None:
    """Keep facts of a session beside its events: `statements`, `read_turns`, `window`, `risk`."""
    path = _path(folder, transcript)
    make_private(folder)
    write_json(path.with_suffix(".facts"), read_json(path.with_suffix(".facts")) | facts)


def limits(folder: Path, **seen: int) -> dict[str, int]:
    """Return the tokens at which models were seen to compact; `seen` is added to what is known."""
    path = folder / "limits"
    known = {k: v for k, v in read_json(path).items() if isinstance(v, int) and v > 0}
    if any(known.get(model) != tokens for model, tokens in seen.items()):
        known |= seen
        write_json(path, known)
    return known


def _path(folder: Path, transcript: Path) -> Path:
    return folder / f"{path_hash(transcript)}.events"


def _loaded(path: Path, head: str = "", size: int = 0) -> tuple[list[Event], EventReader]:
    """Return the events up to the last mark, and a reader that goes on behind it.

    Args:
        head: of the transcript, "" where it is gone.
    """
    events: list[Event] = []
    reader = EventReader()
    marked = 0
    with contextlib.suppress(OSError):
        for row in _rows(path.read_bytes()):
            if "offset" not in row:
                if (event := _event(row)) is not None:
                    events.append(event)
            elif not head or (row.get("head") == head and row["offset"] <= size):
                usage = tuple(row["usage"])
                reader = EventReader(offset=row["offset"], turn=row["turn"], usage=usage)
                marked = len(events)
            else:  # the transcript is another one, or was cut
                events, reader, marked = [], EventReader(), 0
                path.unlink(missing_ok=True)
    del events[marked:]
    for event in events:
        if event.kind is EventKind.CALL:
            reader.calls[event.id] = event.name
        elif event.kind is EventKind.RESULT:
            reader.calls.pop(event.id, "")
    return events, reader


def _row(event: Event) -> dict[str, Any]:
    """Return what is kept of an event: the values that are not those of any event."""
    found = {key: value for key, value in event._asdict().items() if value != Event._field_defaults.get(key)}
    return found | {"kind": event.kind.value}


def _event(row: dict[str, Any]) -> Event | None:
    """Return the event of a kept row, None for a damaged one; many are read, so none is checked in depth."""
    if [type(value) for value in row.values()] != [_TYPES.get(key) for key in row]:
        return None
    try:
        return Event(**row | {"kind": EventKind(row["kind"])})
    except (ValueError, LookupError):
        return None


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.decode("utf-8", "replace").split("\n"):  # to decode each line takes twice the time
        with contextlib.suppress(ValueError):
            yield mapping(json.loads(line))


def _statements(rows: Any) -> Iterator[Anchor]:
    for row in mappings(rows):
        with contextlib.suppress(ValueError):
            yield from_plain(Anchor, row)


def _forget(folder: Path) -> None:
    """Forget the sessions that were read longest ago."""
    for old in sorted(folder.glob("*.events"), key=lambda each: each.stat().st_mtime)[:-MOST_SESSIONS]:
        old.unlink(missing_ok=True)
        old.with_suffix(".facts").unlink(missing_ok=True)
