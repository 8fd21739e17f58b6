"""Words of a statement: cut, stemmed and folded to concepts, in clauses.

A *concept* is the name of a group of words that mean one thing (`db`, `datastore` -> `database`). Every step
is one pass over the text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from forgekit.conflict.rules import grammar, lexicon
from forgekit.conflict.rules.lexicon.people import EXCLUSIVE

TEXT_LIMIT = 2_000
"""Characters of a text that are read."""
WORD_LIMIT = 240
"""Words of a text that are read."""

_DASHES = "\u2013\u2014"
_TOKEN = re.compile(
    r"\d{1,2}:\d\d(?![\d:])"  # 14:30
    r"|[$€£]?\d+(?:[.,]\d+)*(?:\^[\w.-]*|[^\W\d_]*%?)"  # 2,000 and 99.9% and 500ms and 2^63
    r"|[^\W_]+(?:[-_.'/][^\W_]+)*[+#]*"  # opt-in, node.js, C++
    rf"|[.;:,()!?\n|<>=≤≥{_DASHES}-]"
)
_RECORD_NUMBER = re.compile(rf"\s*(?:[A-Za-z]{{2,6}}[- ]?)?\d{{1,5}}\s*[.:{_DASHES}-]\s+")
_OPENS, _CLOSES = "()"
_ENDS = frozenset(f".;!?\n()|{_DASHES}")
_SENTENCE_ENDS = frozenset(".!?")
_WORD_OF_A_PLACE = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands: folded, its concept, and where.

    Attributes:
        stem: the stem, or the stems of a phrase joined by `_`.
        proper: written with a capital inside a sentence, or with a capital or digit after its first letter.
    """

    raw: str
    stem: str
    concept: str
    place: int
    proper: bool = False


def plain(text: str) -> str:
    """Return a text without its record number, in one form for quotes, blanks and "and"."""
    text = unicodedata.normalize("NFKC", text[:TEXT_LIMIT])[:TEXT_LIMIT]
    text = text.replace("\u2019", "'").replace("\u2018", "'").replace("`", "").replace("*", "")
    text = text.replace(" & ", " and ")
    return _RECORD_NUMBER.sub("", text, count=1) if _RECORD_NUMBER.match(text) else text


@functools.lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Fold the plain English endings: plural, -ing, -ed, -tion, -ance, -ment, -ly and a last e."""
    word = word.removesuffix("'s")
    word = grammar.IRREGULAR.get(word, word)
    if word in _KEEP or not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    word = _singular(word)
    return word if word in _KEEP else _base(word)


def _singular(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "ches", "shes", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word


def _base(word: str) -> str:
    for ending in ("ing", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) > 2 and any(c in "aeiouy" for c in rest):
            undoubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if undoubled else rest
            break
    if (word.endswith("tion") and len(word) > 7) or (word.endswith("ssion") and len(word) > 8):
        word = word[:-3]
    for ending in ("ance", "ment"):
        if word.endswith(ending) and len(word) > 7:
            word = word[: -len(ending)]
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_KEEP = frozenset(grammar.IRREGULAR.values())


@functools.cache
def concepts() -> dict[tuple[str, ...], str]:
    """Return what each stemmed word or phrase of the groups is called."""
    found: dict[tuple[str, ...], str] = {}
    for line in grammar.entries(lexicon.GROUPS):
        names = [key(name) for name in line.split(";")]
        for name in names:
            found.setdefault(name, "_".join(names[0]))
    return found


@functools.cache
def phrases() -> dict[tuple[str, ...], str]:
    """Return every phrase of several words that is read as one, and its concept."""
    found = {name: "_".join(name) for name in _slot_keys() if len(name) > 1}
    found.update({name: concept for name, concept in concepts().items() if len(name) > 1})
    found.update({key(name): name for name in (*grammar.CONTRASTS, *grammar.REJECTED_PHRASES)})
    found.update({key(name): "_".join(key(name)) for name in EXCLUSIVE})
    return found


def _slot_keys() -> list[tuple[str, ...]]:
    tables = (lexicon.OPPOSITES, lexicon.CHOICES, lexicon.SCOPES)
    lines = [line.partition(":")[2] for table in tables for line in grammar.entries(table)]
    return [
        key(name) for line in lines for pole in line.split("|") for name in pole.split(",") if "=" not in name
    ]


@functools.lru_cache(maxsize=4_096)
def key(name: str) -> tuple[str, ...]:
    """Return a table's word or phrase as the stems that a text of it is cut into."""
    return tuple(stem(part) for raw in _TOKEN.findall(name.strip().casefold()) for part in parts(raw))


@functools.lru_cache(maxsize=16_384)
def parts(raw: str) -> tuple[str, ...]:
    """Return the words inside a token: hyphens and slashes join words, but no number (SHA-256)."""
    if "^" in raw:
        return (raw,)
    split = re.split(r"[-/]", raw)
    if len(split) > 1 and split[-1][:1].isdigit() and not raw[0].isdigit():
        return (raw,)
    return tuple(part for part in split if part) or (raw,)


def cut(text: str) -> list[tuple[list[Word], bool]]:
    """Return the clauses of a text: the words of each, commas too, and whether it is said in passing.

    That is what stands behind the first sentence, and in brackets.
    """
    clauses: list[list[Word]] = [[]]
    later: list[bool] = [False]
    count = 0
    first = True
    ended = aside = False
    for match in _TOKEN.finditer(plain(text)):
        token = match.group()
        if token in _ENDS:
            first = True
            if clauses[-1]:
                ended = ended or token in _SENTENCE_ENDS
                clauses.append([])
                later.append(ended)
            aside = (aside or match.group() == _OPENS) and match.group() != _CLOSES
            later[-1] = ended or aside
            continue
        if not _WORD_OF_A_PLACE.search(token):
            clauses[-1].append(Word(token, token, token, count))
            continue
        proper = (token[:1].isupper() and not first) or any(c.isupper() or c.isdigit() for c in token[1:])
        proper = proper and not token[0].isdigit()
        for part in parts(token)[: WORD_LIMIT - count]:
            clauses[-1].append(Word(part.casefold(), "", "", count, proper))
            count += 1
        first = False
        if count >= WORD_LIMIT:
            break
    return [(_named(clause), after) for clause, after in zip(clauses, later, strict=True) if clause]


def _named(words: list[Word]) -> list[Word]:
    """Give each word its concept; the longest phrase of the tables becomes one word."""
    stems = [stem(word.raw) for word in words]
    table, single = phrases(), concepts()
    named: list[Word] = []
    at = 0
    while at < len(words):
        for length in (4, 3, 2):
            phrase = tuple(stems[at : at + length])
            if len(phrase) == length and phrase in table:
                raw = " ".join(word.raw for word in words[at : at + length])
                proper = any(word.proper for word in words[at : at + length])
                named.append(Word(raw, "_".join(phrase), table[phrase], words[at].place, proper))
                at += length
                break
        else:
            word = words[at]
            concept = single.get((stems[at],), stems[at])
            named.append(Word(word.raw, stems[at], concept, word.place, word.proper))
            at += 1
    return named
