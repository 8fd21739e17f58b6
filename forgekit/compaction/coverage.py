"""Which anchors a text holds: a summary, or the block that is restored after it.

A text holds a file by its name, with its folder where another file has the same name; a command by all its
programs with their subcommands; words by one line that has most of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property

from forgekit.compaction.anchors import BY_AGENT, Anchor, AnchorKind
from forgekit.text.words import words

PATHS = frozenset({AnchorKind.FILE, AnchorKind.READ})
STATED = frozenset({AnchorKind.CONSTRAINT, AnchorKind.DECISION})
COMMANDS = frozenset({AnchorKind.COMMAND, AnchorKind.ERROR})
MOST_WORDS = 60
"""The first words of a text that are looked for."""
LEAST, ALL_BUT = 0.6, 0.8
"""Share of an anchor's words in a line that means the same, and in one that repeats it."""


class HeldText:
    """A text in which anchors are looked for.

    Args:
        text: a summary, a block, or both.
        anchors: all that are looked for; files of one name are told apart.
    """

    def __init__(self, text: str, anchors: Iterable[Anchor]) -> None:
        self._text = text
        names = Counter(
            {anchor.text: _name(anchor.text) for anchor in anchors if anchor.kind in PATHS}.values()
        )
        self._shared = {name for name, number in names.items() if number > 1}

    @cached_property
    def lines(self) -> list[tuple[str, frozenset[str]]]:
        """The lines with their words; a line without a word is left out."""
        rows = ((line, frozenset(words(line))) for line in self._text.splitlines())
        return [row for row in rows if row[1]]

    def holds(self, anchor: Anchor, least: float = LEAST) -> bool:
        """Say whether the text holds an anchor; `least` is the share of words."""
        if anchor.kind in PATHS:
            name = _name(anchor.text)
            parts = anchor.text.replace("\\", "/").rsplit("/", 2)
            return self._has("/".join(parts[-2:]) if name in self._shared else name)
        if anchor.kind in COMMANDS:
            return all(self._has(program) for program in anchor.text.split(" && "))
        own = frozenset(words(anchor.text)[:MOST_WORDS])
        return not own or any(len(own & line) >= least * len(own) for _, line in self.lines)

    def repeats(self, anchor: Anchor) -> bool:
        """Say whether the text repeats an anchor: a command as it was typed, or nearly all words."""
        if anchor.kind in COMMANDS and anchor.command:
            return " ".join(anchor.command.split()) in " ".join(self._text.split())
        return self.holds(anchor, ALL_BUT)

    def nearest(self, anchor: Anchor, most: int) -> list[str]:
        """Return the lines that share the most words with an anchor."""
        own = frozenset(words(anchor.text))
        ranked = sorted(((len(own & found), line) for line, found in self.lines), reverse=True)
        return [line for common, line in ranked[:most] if common]

    def _has(self, name: str) -> bool:
        """Say whether a name is in the text as a whole word; compiling a pattern for each takes longer."""
        at = self._text.find(name)
        while at >= 0:
            around = self._text[at - 1 : at] + self._text[at + len(name) : at + len(name) + 1]
            if not any(char.isalnum() or char in "_-" for char in around):
                return True
            at = self._text.find(name, at + 1)
        return False


def stated_by_turn(anchors: Iterable[Anchor]) -> HeldText:
    """Return what the user stated, that of one turn on one line: a request may be held by it."""
    lines: dict[int, list[str]] = defaultdict(list)
    for anchor in sorted(anchors, key=lambda anchor: anchor.turn):
        if anchor.kind in STATED and anchor.state != BY_AGENT:
            lines[anchor.turn].append(anchor.text)
    return HeldText("\n".join(map(" ".join, lines.values())), ())


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]
