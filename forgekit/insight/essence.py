"""The essence of a text: few sentences of its own, chosen by how near they are to the whole.

A sentence counts by its cosine with the text's centroid and its title, the earlier ones somewhat more; a
second one is added where it adds something else and there is room.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from forgekit.text.blocks import brief
from forgekit.text.words import STOP_WORDS

ESSENCE_LIMIT, DIGEST_LIMIT = 280, 560
"""Characters of the longest essence of a note, and of the longest digest of a topic."""
SENTENCES = 24
"""Sentences of a text that are considered: its first ones."""
PHRASES = 8
"""Phrases of a text that are considered."""
_POSITION = 0.2
_SAME = 0.75
_ENDS = ".!?\u3002\uff01\uff1f"
_CLOSE = 0.6
_LINK = re.compile(
    r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,400}\)|!?\[\[([^\]|\n]{1,200})(?:\|[^\]\n]{0,200})?\]\]"
)
_WORDS = re.compile(r"[^\W_][\w-]*")
_BREAK = re.compile(r"[^\w\s-]+")


def candidates(sentences: Iterable[str], text: str, limit: int = ESSENCE_LIMIT) -> list[str]:
    """Return what an essence may be made of: whole sentences that fit, else the text's first words.

    Args:
        sentences: of the text, unchanged.
        text: the whole of it.
        limit: characters of the longest.
    """
    plain = (_LINK.sub(lambda m: m[1] or m[2] or "", each).replace("`", "") for each in sentences)
    every = list(dict.fromkeys(" ".join(each.split()) for each in plain))
    whole = [each for each in every if _tells(each) and len(each) <= limit]
    if not whole:
        rest = " ".join(every) or " ".join(_LINK.sub(lambda m: m[1] or m[2] or "", text).split())
        whole = [brief(rest, limit)[:limit]] if rest else []
    return whole[:SENTENCES]


def _tells(sentence: str) -> bool:
    """Say whether a text is a sentence with words enough to be understood alone."""
    words = _WORDS.findall(sentence)
    letters = sum(map(str.isalpha, sentence))
    return len(words) > 3 and sentence[-1] in _ENDS and 2 * letters > len(sentence)


def choose(
    sentences: Sequence[str],
    central: Sequence[float],
    alike: Sequence[Sequence[float]],
    *,
    limit: int = ESSENCE_LIMIT,
    most: int = 2,
) -> str:
    """Return the sentences that say most, in the order of the text.

    Args:
        sentences: each no longer than `limit`.
        central: how near each is to the whole.
        alike: the cosine of each pair of them.
        limit: characters of the answer.
        most: sentences of the answer.
    """
    count = len(sentences)
    score = [value - _POSITION * at / count for at, value in enumerate(central)]
    order = sorted(range(count), key=lambda at: (-score[at], at))
    chosen: list[int] = []
    for at in order:
        room = limit - sum(len(sentences[one]) + 1 for one in chosen)
        worth = not chosen or score[at] >= _CLOSE * score[chosen[0]]
        if len(sentences[at]) <= room and worth and all(alike[at][one] < _SAME for one in chosen):
            chosen.append(at)
        if len(chosen) == most:
            break
    return " ".join(sentences[at] for at in sorted(chosen))


def phrases(title: str, text: str) -> list[str]:
    """Return the phrases that a text repeats, and those of its title: runs of words that say something."""
    counts: Counter[str] = Counter()
    for weight, part in ((3, title), (1, text)):
        for piece in _BREAK.split(part):
            run: list[str] = []
            for word in [*_WORDS.findall(piece), "the"]:
                if word.casefold() in STOP_WORDS or word.isdigit():
                    for size in (1, 2, 3):
                        for at in range(len(run) - size + 1):
                            counts[" ".join(run[at : at + size]).casefold()] += weight * (size > 1) + weight
                    run = []
                else:
                    run.append(word)
    repeated = [(phrase, number) for phrase, number in counts.items() if len(phrase) > 3 and number > 1]
    return [phrase for phrase, _ in sorted(repeated, key=lambda item: (-item[1], item[0]))[:PHRASES]]
