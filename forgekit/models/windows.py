"""A conversation as windows of tokens that the statement reader's model reads at once.

In: turns. Out: the tokens of their own sentences, one turn behind another, and which of them each window
tags. Code, quotes, tool output and documents that a person pastes have no tokens; a mark names who speaks. Of
an assistant's text between two turns of a person only the end is read: it holds 49 of 50 marks, and one
token of ten. A sentence that one speaker repeats at once is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.frozen import frozen

BEFORE, NEW, AFTER = 64, 176, 16
"""Tokens of a window: seen again, tagged, and seen ahead."""
LAST = 128
"""Tokens of an assistant's last sentences that are read; the first of them may go beyond."""


@frozen()
class Conversation:
    """The tokens of all turns.

    Attributes:
        ids: of the tokens.
        human: for each token 1 where a person wrote it, else 0.
        places: (turn, first, last character) of each token; the turn is -1 at marks.
        sentences: for each token the number of its sentence, -1 at marks.
    """

    ids: tuple[int, ...]
    human: tuple[int, ...]
    places: tuple[tuple[int, int, int], ...]
    sentences: tuple[int, ...]


def conversation_of(tokenizer: Any, turns: Sequence[tuple[bool, str]]) -> Conversation:
    """Return the tokens of turns, each (by a person, text)."""
    from forgekit.extraction.sentences import before_document, sentences  # the encoder needs no patterns

    tokenizer.no_truncation()
    marks = [tokenizer.encode(f"{name}:", add_special_tokens=False).ids for name in ("assistant", "user")]
    parts = [
        (turn, each.start, text[each.start : each.start + len(each.text)])
        for turn, (by_person, text) in enumerate(turns)
        for each in sentences(before_document(text) if by_person else text)
    ]
    spoken = [(turns[turn][0], text) for turn, _, text in parts]
    parts = [part for n, part in enumerate(parts) if not n or spoken[n] != spoken[n - 1]]
    found = tokenizer.encode_batch([text.lower() for _, _, text in parts], add_special_tokens=False)
    read = _read([turns[turn][0] for turn, _, _ in parts], [len(encoding.ids) for encoding in found])
    ids: list[int] = []
    human: list[int] = []
    places: list[tuple[int, int, int]] = []
    of: list[int] = []
    last_turn = -1
    for number in read:
        (turn, start, text), encoding = parts[number], found[number]
        by = int(turns[turn][0])
        mark = marks[by] if turn != last_turn else []
        last_turn, size = turn, len(text)
        ids += [*mark, *encoding.ids]
        human += [by] * (len(mark) + len(encoding.ids))
        of += [-1] * len(mark) + [number] * len(encoding.ids)
        places += [(-1, 0, 0)] * len(mark)  # lower case may be longer than the text
        places += [(turn, start + min(a, size), start + min(b, size)) for a, b in encoding.offsets]
    return Conversation(tuple(ids), tuple(human), tuple(places), tuple(of))


def _read(by_person: Sequence[bool], sizes: Sequence[int]) -> list[int]:
    """Return the numbers of the sentences that are read, by speaker and number of tokens."""
    found, left = [], LAST
    for number in reversed(range(len(sizes))):
        if by_person[number]:
            left = LAST
        elif left <= 0:
            continue
        else:
            left -= sizes[number]
        found.append(number)
    return found[::-1]


def windows_of(length: int) -> list[tuple[int, int, int, int]]:
    """Return (first, last) that each window sees and (first, last) that it tags, of so many tokens."""
    found, begin = [], 0
    while begin < length:
        end = begin + (NEW if begin else BEFORE + NEW)
        end = length if end + AFTER >= length else end
        found.append((max(0, begin - BEFORE), min(end + AFTER, length), begin, end))
        begin = end
    return found
