"""The live branch of a conversation that is kept as a tree of messages."""

from __future__ import annotations

from collections.abc import Sequence

from forgekit.times import Instant


def live_branch(
    keys: Sequence[str], parents: Sequence[str], times: Sequence[Instant | None], current: str = ""
) -> list[int]:
    """Return the places of the messages that lead to the current one, first to last.

    Args:
        keys: one a message; the last of equal ones counts.
        parents: the key of the message that each one answers, or one that no message has.
        times: of each message.
        current: where the branch ends; if no message has that key, the newest one that nobody answered, of
            equally new ones the last. In a circle of answers each message counts once.
    """
    places = {key: place for place, key in enumerate(keys)}
    if current not in places:
        answered = set(parents)
        ends = [place for key, place in places.items() if key not in answered] or list(places.values())
        if not ends:
            return []
        current = keys[max(ends, key=lambda place: (times[place] or -1, place))]
    branch: list[int] = []
    seen: set[str] = set()
    while current in places and current not in seen:
        seen.add(current)
        branch.append(places[current])
        current = parents[places[current]]
    return branch[::-1]
