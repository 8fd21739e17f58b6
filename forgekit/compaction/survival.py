"""What a compaction leaves: the share of the anchors before it that its summary holds, and with the block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from forgekit.compaction.anchors import Anchor, AnchorKind, Stretch
from forgekit.compaction.coverage import HeldText, stated_by_turn
from forgekit.compaction.events import Event
from forgekit.compaction.restored import restored
from forgekit.frozen import frozen

CHARACTERS_A_TOKEN = 4
WORDED = frozenset({AnchorKind.CONSTRAINT, AnchorKind.DECISION, AnchorKind.TASK, AnchorKind.REQUEST})
"""Kinds that a judge may find in other words."""
_NEAREST = 3

SameAs = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]
"""Returns of pairs of texts whether both have the same meaning."""


@frozen(kw_only=True)
class Survived:
    """How many anchors of a kind there are, and how many of them a text holds.

    Attributes:
        judged_summary, judged_both: counted too where the judge finds a line of the same meaning.
    """

    total: int = 0
    summary: int = 0
    both: int = 0
    judged_summary: int = 0
    judged_both: int = 0

    def __add__(self, other: Survived) -> Survived:
        names = (each.name for each in fields(self))
        return Survived(**{name: getattr(self, name) + getattr(other, name) for name in names})


@frozen(kw_only=True)
class Survival:
    """One compaction.

    Attributes:
        session: the transcript.
        boundary: with the tokens before it as the transcript records them; 0 where it does not.
        used: tokens of the context as measured before it.
        block: characters of the block.
        again: files read and commands failed after it that had been before; and how many of these neither
            the summary nor the block names.
    """

    session: str
    boundary: Event
    used: int
    kinds: dict[AnchorKind, Survived]
    block: int
    again: int
    again_lost: int
    lost: tuple[Anchor, ...] = ()


def survivals(session: str, stretches: Sequence[Stretch], same: SameAs | None = None) -> list[Survival]:
    """Return what each compaction of a session left."""
    found = []
    for number, stretch in enumerate(stretches[:-1]):
        if stretch.boundary is None or not stretch.summary:
            continue
        block = restored(stretches[: number + 1], stretch.summary, name=session)
        anchors = [anchor for anchor in stretch.anchors if anchor.kind is not AnchorKind.READ]
        both = HeldText(f"{stretch.summary}\n{block}", stretch.anchors)
        kinds, lost = _kinds(anchors, HeldText(stretch.summary, stretch.anchors), both, same)
        known = {anchor.text: anchor for anchor in stretch.anchors}
        again = [known[name] for name in stretches[number + 1].again if name in known]
        found.append(
            Survival(
                session=session,
                boundary=stretch.boundary,
                used=stretch.used,
                kinds=kinds,
                block=len(block),
                again=len(again),
                again_lost=sum(not both.holds(anchor) for anchor in again),
                lost=tuple(lost),
            )
        )
    return found


def _kinds(
    anchors: Sequence[Anchor], summary: HeldText, both: HeldText, same: SameAs | None
) -> tuple[dict[AnchorKind, Survived], list[Anchor]]:
    kinds: dict[AnchorKind, Survived] = {}
    lost = []
    stated = stated_by_turn(filter(both.holds, anchors))
    for anchor in anchors:
        in_summary, in_both = summary.holds(anchor), both.holds(anchor)
        in_both |= anchor.kind is AnchorKind.REQUEST and stated.holds(anchor)
        judged = [in_summary, in_both]
        if same is not None and anchor.kind in WORDED:
            for at, text in enumerate((summary, both)):
                if not judged[at]:
                    judged[at] = any(same([(anchor.text, line) for line in text.nearest(anchor, _NEAREST)]))
        one = Survived(
            total=1, summary=in_summary, both=in_both, judged_summary=judged[0], judged_both=judged[1]
        )
        kinds[anchor.kind] = kinds.get(anchor.kind, Survived()) + one
        if not in_both:
            lost.append(anchor)
    return kinds, lost
