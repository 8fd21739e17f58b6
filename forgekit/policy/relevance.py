"""Which words two texts share that say something, and how many tokens a text costs a reader."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from forgekit.text.stopwords import STOP_WORDS

_WORD = re.compile(r"[^\W_]+")


@cache
def wide() -> re.Pattern[str]:
    """Return what matches a wide character, compiled on demand: it takes longer than to use it."""
    return re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


def words(text: str) -> list[str]:
    """Return a text's words that say something, folded, in order, each once."""
    found = (_stem(word) for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS)
    return list(dict.fromkeys(word for word in found if len(word) > 1 or wide().match(word)))


def _stem(word: str) -> str:
    """Fold the plainest English plurals, so that `keys` meets `key`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def shared(a: str, b: str) -> list[str]:
    """Return the telling words of `a` that stand in `b` too."""
    other = set(words(b))
    return [word for word in words(a) if word in other]


def relevant(query: str, text: str) -> list[str]:
    """Return the words that make a text bear on a query, or [] when too few do.

    Two telling words must be shared, or all of them where the query has fewer.
    """
    common = shared(query, text)
    return common if len(common) >= needed(words(query)) else []


def needed(telling: Collection[str]) -> int:
    """Return how many of a query's telling words must be shared."""
    return min(2, len(telling))


def tokens(text: str) -> int:
    """Estimate what a text costs a model: 4 characters a token, wide (CJK) characters 1 each."""
    broad = len(wide().findall(text))
    return broad + (len(text) - broad + 3) // 4
