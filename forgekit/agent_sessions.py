"""The sessions of coding agents: how near a compaction is, what is kept, and what comes back after one.

Everything follows from the transcript, read from where it was read last; what is kept can be deleted at any
time. It works without a registry too: then the files are in the user's state folder.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.compaction.anchors import BY_AGENT, WITHDRAWS, Anchor, AnchorKind, Stretch, stretches_with
from forgekit.compaction.events import Event, EventKind
from forgekit.compaction.meter import Meter, measure, reported
from forgekit.compaction.restored import MOST, Depth, restored
from forgekit.errors import NotFoundError
from forgekit.frozen import frozen
from forgekit.insight.budget import Block
from forgekit.text.plain import to_plain
from forgekit.text.words import words
from forgekit.transcripts.kept_events import KeptSession, keep_facts, kept_session, limits
from forgekit.transcripts.values import mapping
from forgekit.worktree.roots import agent_folder, sessions_dir

if TYPE_CHECKING:
    from forgekit.forge import Forge

_SESSION = re.compile(r"[0-9A-Za-z_-]{1,64}")
_FAMILIES = {
    "decision": AnchorKind.DECISION,
    "withdrawal": AnchorKind.DECISION,
    "instruction": AnchorKind.CONSTRAINT,
    "constraint": AnchorKind.CONSTRAINT,
}
_TYPED = 300
"""Characters of a prompt that a person wrote; most of a longer one is pasted, and another's words."""
_EVERYTHING = 1_000_000
"""Characters of the block at full depth."""
_AT_ONCE = 4_000
"""Characters of a session that the reader reads in a second or two, so that `restore` need not be told to."""
_UNREAD = "Its decisions and constraints are not read yet: `forgekit compaction preserve` reads them."


@frozen(kw_only=True, slots=False)
class AgentSession:
    """One session as far as its transcript goes.

    Attributes:
        name: of the transcript, without its ending.
    """

    name: str
    transcript: Path
    meter: Meter
    kept: KeptSession

    @cached_property
    def stretches(self) -> list[Stretch]:
        """What happened between compactions, with what the reader found."""
        return stretches_with(self.kept.events, self.kept.statements)

    @property
    def read(self) -> bool:
        """Whether the reader has read all its turns."""
        return self.kept.read_turns >= _last_turn(self.kept.events)

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """What is kept of the stretches."""
        return tuple(anchor for stretch in self.stretches for anchor in stretch.anchors)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many anchors there are of each kind; an open task is in each stretch, and counts once."""
        found = Counter(anchor.kind for anchor in self.anchors)
        found[AnchorKind.TASK] = sum(each.kind is AnchorKind.TASK for each in self.stretches[-1].anchors)
        return {kind.value: found[kind] for kind in AnchorKind}


def status(forge: Forge | None, *, transcript: str | None = None, session: str | None = None) -> AgentSession:
    """Return the session with its meter and anchors.

    Args:
        session: its id; without both, the newest session of the working folder.

    Raises NotFoundError.
    """
    return opened(forge, find_transcript(transcript, session))


def preserve(
    forge: Forge | None, *, level: str = "extended", transcript: str | None = None, session: str | None = None
) -> AgentSession:
    """Bring what is kept of a session up to date; arguments as of `status`.

    Args:
        level: `critical` reads the transcript; `extended` lets the reader find decisions and constraints in
            its new turns; `full` in all turns again.

    Raises NotFoundError.
    """
    path = find_transcript(transcript, session)
    folder = sessions_dir(forge.root if forge else None)
    known = kept_session(folder, path)
    turns = _last_turn(known.events)
    if level != "critical" and (turns > known.read_turns or level == "full"):
        statements = statements_of(forge, known.events)
        if statements is not None:
            keep_facts(folder, path, statements=to_plain(tuple(statements)), read_turns=turns)
    return opened(forge, path)


def restore(
    forge: Forge | None,
    *,
    depth: str = "recent",
    transcript: str | None = None,
    session: str | None = None,
    budget: int = MOST,
    summary: str | None = None,
) -> Block:
    """Return what a session did and a summary does not hold; arguments as of `status` and `block`.

    Args:
        budget: characters; at full depth there is no limit.

    Raises NotFoundError, UsageError for too small a budget.
    """
    found = opened(forge, find_transcript(transcript, session))
    if not found.read and sum(len(event.text) for event in _spoken(found.kept.events)) <= _AT_ONCE:
        found = preserve(forge, transcript=str(found.transcript))
    far = Depth(depth)
    most = _EVERYTHING if far is Depth.FULL else budget
    text = block(found, budget=most, depth=far, summary=summary, note="" if found.read else _UNREAD)
    return Block(text=text, data=lambda: {"session": found.name})


def block(
    session: AgentSession,
    *,
    budget: int = MOST,
    depth: Depth = Depth.RECENT,
    summary: str | None = None,
    note: str = "",
) -> str:
    """Return the block of a session.

    Args:
        summary: what a model knows anyway; None for that of the last compaction, and for what came after it.
        note: what else its reader should know.
    """
    *ended, last = session.stretches
    tasks = [anchor for anchor in last.anchors if anchor.kind is AnchorKind.TASK]
    known = summary is None and depth is not Depth.FULL
    if summary is None:
        summary = ended[-1].summary if ended else ""
    if ended and (known or len(tasks) == len(last.anchors)):
        own = [anchor for anchor in ended[-1].anchors if anchor.kind is not AnchorKind.TASK]
        since = [frame for frame in last.frames if not known and (frame.outcome or frame.tools)]
        merged = ended[-1]._replace(anchors=(*own, *tasks), frames=(*ended[-1].frames, *since))
        parts = [*ended[:-1], merged]
    else:
        parts = [*ended, last]
    return restored(parts, summary, name=session.name, depth=depth, budget=budget, note=note)


def status_line(forge: Forge | None, given: bytes) -> str:
    """Return one line on the context of a session, and keep the size of its window.

    Args:
        given: the JSON that an agent gives the command of its status line; anything else gives no line.
    """
    try:
        data = mapping(json.loads(given))
    except ValueError:
        return ""
    named = mapping(data.get("context_window"))
    window, percent = named.get("context_window_size"), named.get("used_percentage")
    window = window if type(window) is int and window > 0 else 0
    meter = None
    with suppress(TypeError, ValueError, OSError):
        path = Path(data.get("transcript_path") or "")
        if window and path.is_file():
            keep_facts(sessions_dir(forge.root if forge else None), path, window=window)
        meter = opened(forge, path).meter
    if window and isinstance(percent, int | float) and percent >= 0:
        meter = reported(percent / 100, window, meter)
    if meter is None:
        return ""
    of = "where it compacts" if meter.observed else "window"
    return (
        f"context {meter.share:.0%} of {meter.limit // 1000}k ({of}), risk of compaction {meter.risk.value}"
    )


def opened(forge: Forge | None, transcript: Path) -> AgentSession:
    """Return the session of a transcript, with what is kept of it brought up to date."""
    folder = sessions_dir(forge.root if forge else None)
    known = kept_session(folder, transcript)
    meter = measure(known.events, known.window, limits(folder))
    if meter.observed:
        limits(folder, **{meter.model: meter.limit})
    return AgentSession(
        name=transcript.name.partition(".")[0],
        transcript=transcript,
        meter=meter,
        kept=known,
    )


def find_transcript(transcript: str | None, session: str | None) -> Path:
    """Return the file of a session: that named, that of an id, or the newest of the working folder.

    Raises NotFoundError.
    """
    if transcript:
        path = Path(transcript).expanduser()
        if path.is_file():
            return path.resolve()
        raise NotFoundError("transcript", transcript, "give the path of the session's .jsonl file")
    projects = agent_folder(".claude", "CLAUDE_CONFIG_DIR", os.environ) / "projects"
    if session:
        found = [*projects.glob(f"*/{session}.jsonl")] if _SESSION.fullmatch(session) else []
    else:
        found = transcripts_in(projects / re.sub(r"[^a-zA-Z0-9]", "-", str(Path.cwd())))
    if not found:
        raise NotFoundError(
            "session", session or str(Path.cwd()), "name it with --session, or its file with --transcript"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


def transcripts_in(folder: Path) -> list[Path]:
    """Return the transcripts of the sessions in a folder, without those of sub-agents."""
    return [path for path in folder.glob("*.jsonl") if not path.name.startswith("agent-")]


def statements_of(forge: Forge | None, events: Sequence[Event]) -> list[Anchor] | None:
    """Return the decisions of a session and what its user wants to hold; None without a reader."""
    from forgekit.extraction.sentences import whole_sentences
    from forgekit.model.settings import Settings
    from forgekit.models.choice import find_reader
    from forgekit.models.encoder import Missing

    reader = forge.statement_reader if forge else find_reader(Settings(), sessions_dir(None).parent)
    if isinstance(reader, Missing):
        return None
    spoken = _spoken(events)
    turns = [(event.kind is EventKind.PROMPT, event.text) for event in spoken]
    found: dict[Anchor, None] = {}
    for number, family, text in reader.lasting(turns):
        kind, (typed, whole), turn = _FAMILIES[family], turns[number], spoken[number].turn
        if typed and len(whole) <= _TYPED:
            of_it = (each for each in whole_sentences(whole) if set(words(text)) <= set(words(each)))
            wholes = [each for each in of_it if not each.endswith("?")]
        else:
            wholes = [text] if kind is AnchorKind.DECISION and not typed else []
        by = (WITHDRAWS if family == "withdrawal" else "") if typed else BY_AGENT
        found |= dict.fromkeys(Anchor(kind=kind, turn=turn, text=each, state=by) for each in wholes)
    return [*found]


def _spoken(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind in {EventKind.PROMPT, EventKind.REPLY}]


def _last_turn(events: Sequence[Event]) -> int:
    return max((event.turn for event in events), default=0)
