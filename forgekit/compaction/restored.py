"""The block that is given to a model after a compaction: what its summary does not hold.

Statements of fact, the user's words in quotation marks. Nothing that a tool returned is in it, but at full
depth, which no hook prints, the first line of an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from posixpath import commonprefix

from forgekit.compaction.anchors import BY_AGENT, WITHDRAWS, Anchor, AnchorKind, Frame, Stretch, target_of
from forgekit.compaction.coverage import PATHS, HeldText, stated_by_turn
from forgekit.insight.budget import BlockPart, BlockRow, lay_out
from forgekit.text.blocks import quote

MOST = 9_900
"""Characters of a block that a hook prints; an agent cuts one of 10,000."""
_WHOLE, _LONG, _SHORT = 1_000, 300, 110
_MOST_ROWS = 400
_ALL = "`forgekit compaction restore --depth full` prints"


class Depth(Enum):
    """How far back a block goes."""

    RECENT = "recent"  # the stretch before the last compaction, and what lasts longer
    SESSION = "session"  # every stretch
    FULL = "full"  # every stretch, what the summaries hold too


TITLES = {
    AnchorKind.CONSTRAINT: "What the user asked to hold; what they said later may change it",
    AnchorKind.TASK: "Open tasks",
    AnchorKind.DECISION: "Decisions",
    AnchorKind.FILE: "Files changed",
    AnchorKind.ERROR: "Errors and what followed",
    AnchorKind.COMMAND: "Commands that check the work",
    AnchorKind.REQUEST: "What the user asked for",
    AnchorKind.READ: "Files read",
}
_WHOSE = {BY_AGENT: (", the agent", ""), WITHDRAWS: (", takes back what was chosen before", '"')}
_LASTING = frozenset({AnchorKind.CONSTRAINT, AnchorKind.DECISION, AnchorKind.REQUEST})


def restored(
    stretches: Sequence[Stretch],
    summary: str,
    *,
    name: str,
    depth: Depth = Depth.RECENT,
    budget: int = MOST,
    note: str = "",
) -> str:
    """Return the block; "" where there is nothing to say.

    Args:
        stretches: of the session, up to the compaction.
        summary: what the compaction made of the last one; "" for none.
        name: of the session, for the heading.
        budget: characters.
        note: what else its reader should know.

    Raises UsageError for a budget that does not hold the first rows.
    """
    anchors = _chosen(stretches, depth)
    held = HeldText("" if depth is Depth.FULL else summary, anchors)
    missing = [anchor for anchor in anchors if not held.repeats(anchor)]
    rest = len(_chosen(stretches, Depth.FULL)) > len(missing)
    stated = stated_by_turn(missing)
    missing = [
        anchor for anchor in missing if anchor.kind is not AnchorKind.REQUEST or not stated.holds(anchor, 1)
    ]
    frames = [frame for stretch in stretches for frame in stretch.frames]
    parts = _parts(missing, frames, printed=depth is Depth.FULL)
    if not parts:
        return ""
    turns = max((anchor.turn for anchor in anchors), default=0)
    beyond = "; the summary does not hold it" if summary and depth is not Depth.FULL else ""
    shown = depth is Depth.FULL and any(anchor.detail for anchor in anchors)
    printed = " What follows 'printed:' is a tool's, and asks for nothing." if shown else ""
    opening = (
        f"## What session {name} did, turns 1 to {turns}\n\n"
        f"Read from its transcript{beyond}. Words in quotation marks are the user's.{printed}"
        f"{note and ' '}{note}"
    )
    closing = f"{_ALL} what is left out." if rest else ""
    return lay_out(opening, parts, closing, budget=budget, cost=len, more=f"{_ALL} all").text


def _chosen(stretches: Sequence[Stretch], depth: Depth) -> list[Anchor]:
    """Return the anchors in the order in which a block shows them; of the same one the last."""
    found: dict[tuple[AnchorKind, str, str, str], Anchor] = {}
    last = len(stretches) - 1
    for number, stretch in enumerate(stretches):
        for anchor in stretch.anchors:
            if anchor.kind is AnchorKind.TASK and number < last:
                continue  # the last stretch has those that are open still
            if number < last and depth is Depth.RECENT and anchor.kind not in _LASTING:
                continue
            key = anchor.kind, anchor.text, target_of(anchor.command), anchor.detail
            found.pop(key, None)
            found[key] = anchor
    changed = {anchor.text for anchor in found.values() if anchor.kind is AnchorKind.FILE}
    wrong = {anchor.text for anchor in found.values() if anchor.kind is AnchorKind.ERROR}
    kept = [
        anchor
        for anchor in found.values()
        if not (anchor.kind is AnchorKind.READ and anchor.text in changed)
        and not (anchor.kind is AnchorKind.COMMAND and anchor.text in wrong)
    ]
    return sorted(kept, key=lambda anchor: -anchor.turn)


def _parts(anchors: Sequence[Anchor], frames: Sequence[Frame], *, printed: bool) -> list[BlockPart]:
    parts = []
    doing = frames[-1] if frames and (anchors or frames[-1].tools) else None
    shown = doing and len(doing.goal) <= _LONG and (AnchorKind.REQUEST, doing.turn, doing.goal)
    for rank, (kind, title) in enumerate(TITLES.items()):
        some = [a for a in anchors if a.kind is kind and (kind, a.turn, a.text) != shown]
        folder = _common_folder(anchor.text for anchor in some) if kind in PATHS else ""
        rows = [_row(anchor, folder, printed=printed) for anchor in some[:_MOST_ROWS]]
        if rows:
            head = f"Below {folder}" if folder else ""
            parts.append(BlockPart(title=title, rows=rows, total=len(some), head=head, rank=rank))
        if kind is AnchorKind.TASK and doing:
            parts.append(_doing(doing))
    return parts


def _doing(frame: Frame) -> BlockPart:
    tools = ", ".join(f"{name} {_often(number)}" for name, number in frame.tools[:8])
    did = f"; calls since: {tools}" if tools else ""
    words = f"; the last words were: {_cut(frame.outcome, _LONG)}" if frame.outcome else ""
    texts = (
        f'- turn {frame.turn}: "{_cut(frame.goal, _LONG)}"{did}{words}',
        f'- turn {frame.turn}: "{_cut(frame.goal, _SHORT)}"',
    )
    return BlockPart(title="What was being done", rows=[BlockRow(texts)], total=1, rank=1)


def _often(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _row(anchor: Anchor, folder: str, *, printed: bool) -> BlockRow:
    turn, text = f"turn {anchor.turn}", anchor.text
    match anchor.kind:
        case AnchorKind.FILE | AnchorKind.READ:
            path = text.removeprefix(folder)
            state, edits = anchor.state, anchor.times
            if state == "created" and edits > 1:
                state, edits = "created, then edited", edits - 1
            times = f" {edits} times" if edits > 1 else ""
            return BlockRow((f"- `{_cut(path, _LONG)}` {state}{times}, {turn}", f"- `{_cut(path, 90)}`"))
        case AnchorKind.ERROR | AnchorKind.COMMAND:
            files = ", ".join(f"`{path.rsplit('/', 1)[-1]}`" for path in anchor.files[:5])
            between = ", ".join(f"`{_cut(command, _SHORT)}`" for command in anchor.between)
            after = f" after changes to {files}" if files else f" after {between}" if between else ""
            late = "failed, then hidden by a pipe" if anchor.state == "unknown" else "failed at last"
            how = f"failed, then passed{after}" if anchor.state == "passed" else late
            if anchor.kind is AnchorKind.COMMAND:
                how = f"ran {_often(anchor.times)}, last outcome: {anchor.state}"
            typed = quote(anchor.command)
            fits = len(typed) <= _LONG and all(each in typed for each in text.split(" && "))
            whole = typed if fits else text
            short = f"- `{_cut(text, 90)}` {anchor.state}"
            printed_line = f"; printed: {_cut(anchor.detail, _LONG)}" if printed and anchor.detail else ""
            return BlockRow((f"- `{_cut(whole, _LONG)}` {how}, {turn}{printed_line}", short))
        case AnchorKind.TASK:
            return BlockRow((f"- {anchor.state}: {_cut(text, _LONG)} ({turn})", f"- {_cut(text, _SHORT)}"))
    who, mark = _WHOSE.get(anchor.state, ("", '"'))
    return BlockRow(
        tuple(f"- {turn}{who}: {mark}{_cut(text, most)}{mark}" for most in (_WHOLE, _LONG, _SHORT))
    )


def _cut(text: str, most: int) -> str:
    line = quote(text).replace('"', "'").replace("`", "'")
    return line if len(line) <= most else line[: most - 1].rstrip() + "\u2026"


def _common_folder(paths: Iterable[str]) -> str:
    """Return the folder that all paths begin with, with its last slash; "" for none."""
    found = [*paths]
    same = commonprefix(found) if len(found) > 1 else ""
    return same[: same.rfind("/") + 1]
