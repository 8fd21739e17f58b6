"""Text as the full-text index sees it, and a person's query as the index may be asked.

FTS5 splits at everything that is neither letter nor digit, so a sentence of a script that is written
without blanks (Chinese, Japanese, Thai ...) would become one token. Each such character is therefore set
between zero-width blanks in the indexed text, and a run of them is asked for as its overlapping pairs.

A query is a bag of words: each is quoted, so that no FTS5 syntax ever reaches MATCH, and they are joined
by OR, because joining by AND loses the answers to questions. Stop words go first: they match everything.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

_STOP_WORDS = (
    "a about after all also am an and any are aren as at be because been before being both but by can cannot "
    "could couldn did didn do does doesn doing don each for from had has hasn have haven having he her here "
    "him his how i if in into is isn it its itself just ll let me more most my no nor not of on once only or "
    "other our ours out own re s same shall she should shouldn so some such t than that the their them then "
    "there these they this those through to too under until up us ve very was wasn we were weren what when "
    "where which while who whom why will with won would wouldn you your yours"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Function words of German, French, Spanish, Portuguese, Italian, Dutch, after the lists of snowballstem.org.
_FOREIGN_LISTS = """
aber als am an auch auf aus bei bis da damit dann das dass dem den der des die dies diese diesem diesen
dieser dieses doch du durch ein eine einem einen einer eines er es für gab gibt haben hat hatte hatten ich
ihr ihre im in ist ja kann kein keine keinen man mehr mit muss nach nicht noch nun nur ob oder ohne sein
seine sich sie sind so soll sollen sollte über um und uns unser unsere unseren unter viel vom von vor wann
war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb wie
wieso wieviel will wir wird wo woher wohin wurde wurden zu zum zur zwischen

ai ait alors après as au aussi aux avant avec avez avons ce cela ces cet cette ceux combien comme comment
c d dans de depuis des donc dont du elle elles en encore entre es est et eu eux été étaient était faut il
ils j je l la laquelle le lequel les lesquels leur leurs lui m ma mais me même mes mon n ne nos notre nous
on ont ou où par pas plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera
ses si son sont sur t ta te tes toi ton tous tout toute très tu un une vos votre vous y

a al algo ante antes aún como cómo con contra cual cuál cuales cuáles cuando cuándo cuánta cuántas cuánto
cuántos de del desde donde dónde durante e el él ella ellos en entre era es esa ese eso esta está están
este esto fue ha había han hasta hay hemos la las le les lo los más me mi muy no nos nuestra nuestro o
para pero por porque que qué quien quién se ser si sí sin sobre son su sus también te tiene todavía todo
un una y ya yo

a à ao aos as às até com como ainda da das de do dos e é ela ele eles em entre era essa esse esta está
este eu foi foram há isso já lhe mais mas me mesmo muito na nas não nem no nos nós nossa nosso num numa o
onde os ou para pela pelo por porque porquê qual quais quando quanto quantos que quê quem se sem ser seu
sua são sobre também tem temos todo um uma vai vamos você

a ad agli ai al alla alle anche ancora che chi ci come con cosa cui da dal dalla dei del della delle di
dove e è ed era gli ha hanno ho i il in io l la le lo loro ma mi nei nel nella nelle no noi non nostra
nostro o per perché più quale quali quando quanti quanto questa questo se si sia sono stata stato su sul
sulla suo tra tu tutto un una uno

aan al als bij dan dat de deze die dit door een en er het hij hoe hoeveel hun ik in is ja je kan maar me
meer met mijn moet na naar niet nog nu of om ons onze ook op over te tegen tot uit van voor waar waarom
wanneer was wat we welk welke werd wie wij wordt zal ze zich zij zijn zo zonder
"""
_FOREIGN_STOP_WORDS = tuple(
    # A single letter shows no language (`I/O`), nor does a word that is English too.
    (frozenset(w for w in words.split() if len(w) > 1) - STOP_WORDS, STOP_WORDS.union(words.split()))
    for words in _FOREIGN_LISTS.split("\n\n")
)


_WORD = re.compile(r"[^\W_]+")
_BEYOND_LATIN = "\u0370"
_WORD_OR_WIDE = "[\u2e80-\u9fff\uac00-\ud7af]|[^\\W_\u2e80-\u9fff\uac00-\ud7af]+"


@cache
def wide() -> re.Pattern[str]:
    """Return what matches a wide character, compiled on demand: it takes longer than to use it."""
    return re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


def changed_parts(one: list[str], other: list[str]) -> tuple[list[str], list[str]]:
    """Return what two lists hold between their common beginning and their common end."""
    most = min(len(one), len(other))
    start = next((n for n in range(most) if one[n] != other[n]), most)
    most -= start
    end = next((n for n in range(most) if one[-1 - n] != other[-1 - n]), most)
    return one[start : len(one) - end], other[start : len(other) - end]


def is_english(text: str) -> bool:
    """Say whether a text may be English: neither function words nor a letter tell that it is not."""
    found = {*_WORD.findall(text.casefold())}
    return all(c < _BEYOND_LATIN for word in found for c in word) and _stop_words(found) is STOP_WORDS


def stop_words(text: str) -> frozenset[str]:
    """Return the function words of English and of the language of a text."""
    return _stop_words({*_WORD.findall(text.casefold())})


def _stop_words(found: AbstractSet[str]) -> frozenset[str]:
    """Return the stop words of English, and of the language that more of some words are function words of."""
    most, chosen = max(len(STOP_WORDS & found), 1), STOP_WORDS
    for own, and_english in _FOREIGN_STOP_WORDS:
        if (count := len(own & found)) > most:
            most, chosen = count, and_english
    return chosen


def words(text: str) -> list[str]:
    """Return a text's words that say something, folded, in order, each once."""
    every = _WORD.findall(text.casefold())
    passed_over = _stop_words({*every})
    found = (_stem(word) for word in every if word not in passed_over)
    return list(dict.fromkeys(w for w in found if len(w) > 1 or (not w.isascii() and wide().match(w))))


def _stem(word: str) -> str:
    """Fold the plainest English plurals, so that `keys` meets `key`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def stem(word: str) -> str:
    """Fold -ing, -ed and a last e of an English word, so that `mastered` meets `master`."""
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word.removesuffix(ending)
    return word.removesuffix("e") if len(word) > 3 else word


def likeness(a: str, b: str) -> float:
    """Return the share of the words of the longer text that the other has."""
    one, other = _every_word(a), _every_word(b)
    return len(one & other) / max(len(one), len(other), 1)


@lru_cache(maxsize=16_384)
def _every_word(text: str) -> frozenset[str]:
    """Return the words of a text, folded; a wide character is a word."""
    return frozenset(re.findall(_WORD_OR_WIDE, text.casefold()))


def shared(a: str, b: str) -> list[str]:
    """Return the significant words of `a` that `b` has too."""
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


QUERY_LIMIT = 4_000
"""Characters of a query that are read."""
TERM_LIMIT = 48
"""Different words of a query that are asked for."""

_GAP = "\u200b"
_UNSPACED_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul: it has blanks, but its endings cling to the word
)


# Compiling these costs more than a query; plain ASCII needs neither.
@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED_RANGES}]")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED_RANGES}]+|[^{_UNSPACED_RANGES}]+")


def indexed(text: str) -> str:
    """Return the text as it goes into the index."""
    if text.isascii():
        return text.replace("\x00", " ")
    clean = unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode().replace("\x00", " ")
    return _unspaced().sub(rf"{_GAP}\g<0>{_GAP}", clean)


def readable(indexed_text: str) -> str:
    """Return indexed text as a person wrote it."""
    return indexed_text.replace(_GAP, "")


def match_terms(query: str) -> list[str]:
    """Return the MATCH expression of each significant word of a query."""
    words = _words(query)
    passed_over = _stop_words({word.casefold() for word in words})
    telling = [w for w in words if w.casefold() not in passed_over and not is_grammar(w)] or words
    return [f'"{word}"' for word in telling[:TERM_LIMIT]]


def match_expression(query: str) -> str:
    """Return the MATCH expression of a query; "" when it holds no word at all."""
    return " OR ".join(match_terms(query))


def is_grammar(term: str) -> bool:
    """Say whether a term of Japanese is of hiragana alone, as endings and particles are."""
    return all("\u3041" <= character <= "\u309f" or character == _GAP for character in term)


def _words(query: str) -> list[str]:
    """Return the different words of a query, in their order; the text between words is dropped."""
    text = unicodedata.normalize("NFC", query[:QUERY_LIMIT])
    kept = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in text)
    if kept.isascii():
        return list(dict.fromkeys(kept.split()))
    words: dict[str, None] = {}
    for run in _runs().findall(kept):
        if not _unspaced().match(run):
            words.update(dict.fromkeys(run.split()))
        elif len(run) == 1:
            words[run] = None
        else:
            words.update(dict.fromkeys(f"{a}{_GAP}{b}" for a, b in itertools.pairwise(run)))
    return list(words)
