"""Before and after the context of an agent's session is compacted; all of it works without a registry.

What reads transcripts is imported where one is read: most calls find nothing to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.console import count
from forgekit.hooks.transcript_queue import place_of, start_process, transcript_of
from forgekit.worktree import local_state
from forgekit.worktree.roots import sessions_dir

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.hooks.agents import HookInput

EVERY = 100_000
"""Bytes by which a transcript grows before it is read again at the end of a turn: some 10,000 tokens."""
_INSTRUCTIONS = _HANDOFF = 4_000
"""Characters of what is printed before a compaction, and when a session begins after another."""
_NEAR = {"medium": "extended", "high": "full"}
"""How much of a session the reader reads, by the risk of a compaction."""


def before(forge: Forge | None, given: HookInput) -> str:
    """Bring what is kept up to date, and return what the summary should name."""
    transcript = transcript_of(given)
    if transcript is None:
        return ""
    from forgekit.agent_sessions import block, opened

    session = opened(forge, transcript)
    _read_statements(forge, transcript, "extended")
    text = block(session, budget=_INSTRUCTIONS, summary="")
    return f"The summary should name what follows, the user's words as they are.\n\n{text}" if text else ""


def after(forge: Forge | None, given: HookInput) -> str:
    """Return what the summary does not hold; at a new or resumed session what the one before did."""
    source = given.data.get("source")
    transcript = place_of(given) if source in {"compact", "clear", "resume"} else None
    if transcript is None:
        return ""
    from forgekit.agent_sessions import block, opened, transcripts_in

    if source == "clear":
        others = {path.name: path for path in transcripts_in(transcript.parent) if path != transcript}
        if not others:
            return ""
        last = local_state.ended(forge.root if forge is not None else None).get(str(transcript.parent))
        newest = max(others.values(), key=lambda path: path.stat().st_mtime)
        transcript = others.get(last or "", newest)
    try:
        session = opened(forge, transcript)
    except FileNotFoundError:  # the agent writes it later, and nothing is kept of it
        return ""
    return block(session) if source == "compact" else block(session, budget=_HANDOFF, summary="")


def at_end(forge: Forge | None, given: HookInput) -> str:
    """Keep that a session ended, of which one that begins after `/clear` hears; return ""."""
    if transcript := transcript_of(given):
        local_state.record_end(forge.root if forge is not None else None, transcript)
    return ""


def at_turn_end(forge: Forge | None, given: HookInput) -> str:
    """Keep what happened; say once when a compaction comes near, and let the reader read the turns."""
    root = forge.root if forge is not None else None
    transcript = transcript_of(given) if given.session else None
    if transcript is None:
        return ""
    size, seen = transcript.stat().st_size, local_state.notices_of(root, given.session)
    if 0 <= size - seen.kept < EVERY:
        return ""
    from forgekit.agent_sessions import opened
    from forgekit.transcripts.kept_events import keep_facts

    local_state.record_notices(root, given.session, seen._replace(kept=size))
    session = opened(forge, transcript)
    risk = session.meter.risk.value
    if risk == session.kept.risk:
        return ""
    keep_facts(sessions_dir(root), transcript, risk=risk)
    if risk not in _NEAR:
        return ""
    _read_statements(forge, transcript, _NEAR[risk])
    kept = ", ".join(count(number, kind) for kind, number in session.counts.items() if number)
    return (
        f"The context is at {session.meter.share:.0%} of where it compacts; kept for afterwards: {kept}. "
        "`forgekit compaction status` shows it."
    )


def _read_statements(forge: Forge | None, transcript: Path, level: str) -> None:
    """Start a process that lets the reader find decisions and constraints; it outlives the hook."""
    command = ("compaction", "preserve", "--level", level, "--transcript", str(transcript))
    start_process(forge.root if forge is not None else None, *command)
