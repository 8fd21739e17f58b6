"""The words that archives use: labels of fields, nouns of records, states, priorities (in `labels.toml`).

A word is looked up folded: width, case, accents, marks and symbols do not count.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from forgekit.errors import FormatError
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus
from forgekit.model.settings import SETTINGS_FILE, OwnLabels

T = TypeVar("T")
_SUFFIX = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_VOICED = "\u3099\u309a"  # marks of kana that are no accents
_SYMBOLS = {"So", "Sk", "Cf", "Mn", "Me", "Cs"}
_ENDINGS = ("s", "e", "es", "en", "er", "em", "n", "te", "ten")
_INFLECTIONS = {"", "o", "os", "as", "a", *_ENDINGS}
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=8192)
def letters(text: str) -> str:
    """Return the text folded, without symbols and marks of emphasis."""
    if text.isascii():
        return " ".join(re.sub(r"[`*~_]", " ", text).casefold().split())
    wide = unicodedata.normalize("NFKD", text.casefold())
    kept = (
        " " if c in "`*~_" else c for c in wide if c in _VOICED or unicodedata.category(c) not in _SYMBOLS
    )
    return " ".join(unicodedata.normalize("NFC", "".join(kept)).split())


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return the key of a label: like `letters`, and `-` and a trailing (...) do not count."""
    plain = _SUFFIX.sub("", letters(text[:200]))
    return " ".join(plain.replace("-", " ").strip(" :\u00b7.").split())


def is_symbol(character: str) -> bool:
    """Say whether a character decorates a line: an emoji, a box, a star."""
    return not character.isascii() and unicodedata.category(character) in _SYMBOLS


_TABLE: Mapping[str, Any] = tomllib.loads((pkgutil.get_data(__package__, "labels.toml") or b"").decode())


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split("|")]


class Words(dict[str, T]):
    """A table of folded words; each table is itself and no other, so that what is found in it can be kept."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def _values(rows: Mapping[str, str], value: Callable[[str], T]) -> Words[T]:
    return Words({fold(word): value(name) for name, words in rows.items() for word in _split(words)})


def _with_more(rows: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{words} | {more[name]}" if name in more else words for name, words in rows.items()}


def _fields(more: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the rows of each kind, with the words of `more`."""
    table = {name: _with_more(rows, more.get(name, {})) for name, rows in _TABLE["fields"].items()}
    return {kind: {**table["all"], **table[kind]} for kind in "DTA"}


def _keys(fields: Mapping[str, dict[str, str]]) -> dict[str, Words[str]]:
    return {
        kind: _values({name: words.replace("+", "") for name, words in reversed(rows.items())}, str)
        for kind, rows in fields.items()
    }


_MORE = _TABLE["more"]
_FIELDS = _fields(_MORE["fields"])
KEYS: Mapping[str, Words[str]] = _keys(_FIELDS)
"""For each kind (D, T, A), folded label to the field that it names."""
ORDER = {
    kind: {
        fold(w): n for words in reversed(rows.values()) for n, w in enumerate(_split(words.replace("+", "")))
    }
    for kind, rows in _FIELDS.items()
}
"""For each kind, the place of a label in the row of its field."""
ANSWERS = {key for key in map(fold, _split(_FIELDS["T"]["resolution"])) if KEYS["T"][key] == "text"}
"""Labels of the text of a thread that beside its title are of its answer, as `issue` is in French."""
JOINING: Mapping[str, Mapping[str, str]] = {
    kind: {fold(word[1:]): name for name, words in rows.items() for word in _split(words) if word[0] == "+"}
    for kind, rows in _FIELDS.items()
}
"""For each kind, the labels that may open a clause without a colon."""
_PLACES = {fold(word) for word in _split(_TABLE["facts"].pop("place"))}
_FACTS = _values(_TABLE["facts"], str)
_MORE_FACTS = _values(_TABLE["more_facts"], str)
OPENING = {
    kind: {key.split()[0] for key in keys} for kind, keys in {**KEYS, "": {**_FACTS, **_MORE_FACTS}}.items()
}
"""For each kind, the words that labels begin with; those of facts under ""."""
STATES: Mapping[str, Words[Enum]] = {
    "T": _values(_with_more(_TABLE["states"]["T"], _MORE["states"]["T"]), ThreadStatus),
    "D": _values(_with_more(_TABLE["states"]["D"], _MORE["states"]["D"]), DecisionStatus),
}
MARKS = {mark: ThreadStatus(name) for name, marks in _TABLE["marks"].items() for mark in marks}
"""Marks before or behind a record, or alone in a cell of states."""
_PRIORITIES = _values(_with_more(_TABLE["priorities"], _MORE["priorities"]), Priority)
_COLOURS = {mark: Priority(name) for name, marks in _TABLE["colours"].items() for mark in marks}
BANDS = _values(_TABLE["bands"], float)
CONFIDENCE = _values(_with_more(_TABLE["confidence"], _MORE["confidence"]), float)
MODES = _values(_TABLE["modes"], str)
_CHANGES = _values(_TABLE["changes"], str)
NONE = {word.casefold() for word in _split(_TABLE["none"]["words"])} | {""}
PREFIXES = {word.casefold(): kind for kind, words in _TABLE["ids"].items() for word in [*_split(words), kind]}
"""Letters or word before the number of an id to its kind: D, T, OT or A."""
CHOSEN = {fold(word) for word in _split(_TABLE["chosen"]["words"])}
"""Words that mark the option that was taken among others."""
MONTHS: list[list[str]] = [names.split() for names in _TABLE["months"]["names"]]


def change_named(label: str) -> str:
    """Return what a label gives of a change: `before`, `now` or `field`; "" for any other label."""
    return _CHANGES.get(fold(label), "")


def phrases() -> Mapping[str, list[str]]:
    """Return every phrase that the tagger was fitted to with what it may mean: `D=tier`, `priority=high`."""
    found: dict[str, list[str]] = defaultdict(list)
    tables: dict[str, Mapping[str, Any]] = {
        **_keys(_fields({})),
        "fact": _FACTS,
        "priority": _values(_TABLE["priorities"], Priority),
        "sure": _values(_TABLE["confidence"], float),
        "band": BANDS,
        "state T": _values(_TABLE["states"]["T"], ThreadStatus),
        "state D": _values(_TABLE["states"]["D"], DecisionStatus),
    }
    for name, table in tables.items():
        for phrase, value in table.items():
            if phrase:
                found[phrase].append(f"{name}={getattr(value, 'value', value)}")
    return found


def field_words(kind: str, name: str) -> list[str]:
    """Return the labels that name a field of a kind, as the table spells them."""
    return [word.lstrip("+") for word in _split(_FIELDS[kind][name]) if word]


def variants(word: str) -> Iterator[str]:
    """Yield a word and what it may be an inflection of."""
    yield word
    for ending in _ENDINGS:
        if len(word) > len(ending) + 3 and word.endswith(ending):
            yield word[: -len(ending)]
    stem = word.removesuffix("s")
    if stem.endswith(("a", "e")):
        yield f"{stem[:-1]}o"
        yield f"{stem[:-1]}a"


@lru_cache(maxsize=2048)
def leading(text: str, table: Words[T]) -> tuple[T | None, str]:
    """Return the table's value of the words that a text begins with, and the rest; (None, text) if none."""
    words = re.findall(r"[^\W_]+|[-/]", letters(text[:200]))[:4]
    for count in range(len(words), 0, -1):
        phrase = " ".join(words[:count]).replace(" - ", " ")
        for each in variants(phrase):
            if each in table:
                return table[each], _after(text, count)
    if words and _CJK.match(words[0]):
        for key in sorted(table, key=len, reverse=True):
            if _CJK.match(key) and words[0].startswith(key):
                return table[key], text[text.find(key[-1]) + 1 :]
    return None, text


def _after(text: str, count: int) -> str:
    end = 0
    for _, match in zip(range(count), re.finditer(r"[^\W_]+|[-/]", text), strict=False):
        end = match.end()
    return text[end:]


def colour_in(text: str) -> Priority | None:
    """Return the priority that the first colour of a text shows."""
    return next((_COLOURS[c] for c in text if c in _COLOURS), None)


def priority_of(word: str) -> Priority | None:
    """Return the priority that a word is, None for any other word."""
    found, rest = leading(word, _PRIORITIES)
    return found if not rest else None


def priority_in(text: str) -> Priority | None:
    """Return the priority that a text names: a word, a colour, or a number of stars."""
    found, _ = leading(text, _PRIORITIES)
    stars = max(map(text[:40].count, "\u2605\u2b50!\u25cf\u25a0"))
    return (
        found or colour_in(text[:20]) or (None, Priority.LOW, Priority.MEDIUM, Priority.HIGH)[min(stars, 3)]
    )


_NUMBER = re.compile(
    r"^\s*\(?(?:\d{1,2}(?:\.\d{1,2})*[.):]?|(?:[IVX]{1,5}|[A-H])[.):])\s+(?=\S)"
    r"|^\s*[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]{1,3}[\u3001.\uff0e]\s*"
)
_LIGHT = _TABLE["nouns"].pop("light").split()
_BETWEEN = rf"(?:(?:{'|'.join(word for word in _LIGHT if not _CJK.match(word))}) )*"
_AND = r"(?:(?:and|or|und|oder|et|ou|y|o|e|en) \w+ )?"
_KANA = f"(?:{'|'.join(word for word in _LIGHT if _CJK.match(word))})?"
_FUNCTION = (
    r"(?:in|this|since|during|now|by|at|on|from|as|so|with|today|here|earlier|before|along|of|for|about|made|we"
    r"|that|which|to|und|and|taken|requiring|log|index|record|list|register|summary)\b"
)
_COMPOUND = re.compile(
    rf"\b(?:decision|choice|agreement|thread|question|issue|artifact)"
    rf" (?!{_FUNCTION}|{_BETWEEN.replace('*', '+')}|\d)[a-z]"
)
_NOT_YET = re.compile(r"\b(?:to|not|never|yet|undecided|nicht|pas|no|non|nao|niet|не)\b|\u672a")
_IN_PART = re.compile(
    r"\b(?:partially|partly|half|nearly|almost|mostly|teilweise|partiellement|parcialmente)\b"
)
_TASKS = {"todo", "to do", "to dos", "\u5f85\u529e"}


_WIDE = "\u3040-\u30ff\u3400-\u9fff"
_BETWEEN_STATE_AND_NOUN = re.compile(rf" ?{_KANA}{_AND}")
_BETWEEN_NOUN_AND_STATE = re.compile(rf" {_BETWEEN}")
_BEFORE_STATE = re.compile(_BETWEEN)
_BEHIND_STATE = re.compile(rf"{_KANA}(?: (?:{'|'.join(_LIGHT)}))?(?: {_FUNCTION}.*)?")
_BEFORE_NOUN = re.compile(rf"(?:[^\W_]+ |[{_WIDE}]+)?(?:[^\W_]+ ){{0,3}}")
_BEHIND_NOUN = re.compile(rf"(?:[ {_WIDE}].*)?")


def _roles() -> Mapping[str, set[str]]:
    """Return the stem of each word to what it may be: a state, a noun, or any noun of a kind."""
    found: dict[str, set[str]] = defaultdict(set)
    nouns = {f"noun {kind}": _split(words) for kind, words in _TABLE["nouns"].items()}
    named = {role.replace("noun", "any"): words for role, words in nouns.items()}
    named["any T"] = [*named["any T"], *_split(_WEAK)]
    states = {f"state {kind}": list(words) for kind, words in STATES.items()}
    for role, words in (nouns | named | states).items():
        for word in map(fold, words):
            found[word if _CJK.search(word) else word.removesuffix("o")].add(role)
    return found


_WEAK = _TABLE["nouns"].pop("weak")
_ROLES = _roles()
_WIDE_ROLES = {word: roles for word, roles in _ROLES.items() if _CJK.search(word)}
_HEADS = {word.partition(" ")[0] for word in _ROLES if " " in word}
"""The words that phrases of several words begin with."""
_PHRASE = max(word.count(" ") for word in _ROLES) + 1


@lru_cache(maxsize=8192)
def _words_in(text: str) -> list[tuple[int, int, set[str]]]:
    """Return where in a folded text words of `_ROLES` are, inflected, and what they may be."""
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    found = []
    for n, (start, _) in enumerate(words):
        count = _PHRASE if text[start : words[n][1]] in _HEADS else 1
        for _, end in words[n : n + count]:
            stems = range(end, max(end - 3, start + 1) - 1, -1)  # the longest first: `files` is of `file`
            known = (_ROLES.get(text[start:stem]) for stem in stems if text[stem:end] in _INFLECTIONS)
            if roles := next(filter(None, known), None):
                found.append((start, end, roles))
    for word, roles in () if text.isascii() else _WIDE_ROLES.items():
        if word in text:
            found += [(match.start(), match.end(), roles) for match in re.finditer(word, text)]
    return found


def _spans(text: str, role: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end, roles in _words_in(text) if role in roles]


def _state_words(text: str, kind: str) -> Iterator[str]:
    """Yield the words of states in a text, the longest at each place."""
    reached = 0
    for start, end in sorted(_spans(text, f"state {kind}"), key=lambda span: (span[0], -span[1])):
        if start >= reached:
            reached = end
            yield text[start:end]


def _is_beside(text: str, kind: str) -> bool:
    """Say whether a word of a state is beside a noun of the kind, or alone."""
    nouns = _spans(text, f"any {kind}")
    return any(
        (_BEFORE_STATE.fullmatch(text, 0, start) and _BEHIND_STATE.fullmatch(text, end))
        or any(
            _BETWEEN_STATE_AND_NOUN.fullmatch(text, end, first)
            if end <= first
            else last <= start and _BETWEEN_NOUN_AND_STATE.fullmatch(text, last, start)
            for first, last in nouns
        )
        for start, end in _spans(text, f"state {kind}")
    )


@lru_cache(maxsize=4096)
def title_words(label: str) -> str:
    """Return the key of a heading: folded, without the number before it."""
    return fold(_NUMBER.sub("", label, count=1))


@lru_cache(maxsize=4096)
def state_of_label(label: str, kind: str) -> Enum | None:
    """Return the state that a heading or lead-in gives to the records of a kind (D or T) below it."""
    words = _NUMBER.sub("", label, count=1)
    plain = " ".join(re.findall(r"[^\W\d_]+", letters(words)))
    if "?" in label or plain in _TASKS:
        return None
    return _state_in(title_words(label), kind) or _state_in(plain, kind)


def _state_in(words: str, kind: str) -> Enum | None:
    found = {leading(each, STATES[kind])[0] for each in _state_words(words, kind)} - {None}
    if len(found) != 1 or _IN_PART.search(words):
        return None
    status = found.pop()
    if _NOT_YET.search(words) or status is DecisionStatus.ACTIVE:
        return ThreadStatus.OPEN if kind == "T" else None
    if status is not ThreadStatus.OPEN and words.startswith(("what ", "was ")):
        return None
    return status if _is_beside(words, kind) else None


@lru_cache(maxsize=4096)
def names_kind(label: str, kind: str) -> bool:
    """Say whether a label speaks of records of a kind."""
    return bool(_spans(letters(label), f"any {kind}"))


@lru_cache(maxsize=4096)
def lists_kind(label: str, kind: str) -> bool:
    """Say whether a label announces a list of records: `Decisions made`, and not `Decision criteria`."""
    parts = [title_words(label), *(fold(part) for part in label.split("/")[:4])]
    if len(parts[0].split()) > 8:
        return False
    if kind == "T" and _spans(parts[0], "any T") and state_of_label(label, "T") is not None:
        return True
    if _NOT_YET.search(parts[0]):
        return False
    return any(
        _BEFORE_NOUN.fullmatch(part, 0, start) and _BEHIND_NOUN.fullmatch(part, end)
        for part in parts
        for start, end in _spans(part, f"noun {kind}")
        if not _COMPOUND.search(part)
    )


@lru_cache(maxsize=4096)
def quotes(label: str) -> str:
    """Return what a heading quotes: `inherited`, `earlier`, `transcript`, or "" if nothing."""
    key = title_words(label)
    found = (what for what, each in _TABLE["quoting"].items() if any(re.fullmatch(p, key) for p in each))
    return next(found, "")


_PARENT_LABELS = [
    key for key, name in {**_FACTS, **_MORE_FACTS}.items() if name in ("parent", "inherited", "chain")
]
_PARENTS = [key if _CJK.search(key) else f" {key} " for key in _PARENT_LABELS]


def names_parent(words: str) -> bool:
    """Say whether the words before a tag say that it is continued."""
    text = re.sub(r"[\W_]", " ", f" {letters(words[-80:])} ")
    return any(key in text for key in _PARENTS)


def names_place(title: str) -> bool:
    """Say whether a heading is one over facts of the archive."""
    return title_words(title) in _PLACES


_BUILT_IN: Mapping[str, Words[str]] = {**KEYS, "": Words({**_MORE_FACTS, **_FACTS})}
_in_use = ContextVar("labels", default=_BUILT_IN)


@contextmanager
def own_labels(own: OwnLabels) -> Iterator[None]:
    """Let a registry's own labels name fields and facts too, within.

    Raises FormatError for a name that no field or fact has.
    """
    token = _in_use.set(_with_own(own))
    try:
        yield
    finally:
        _in_use.reset(token)


@lru_cache(maxsize=8)
def _with_own(own: OwnLabels) -> Mapping[str, Words[str]]:
    named = {kind: rows.keys() for kind, rows in _FIELDS.items()} | {"": _TABLE["facts"].keys()}
    every = dict.fromkeys(name for names in named.values() for name in names)
    for unknown in (name for name, _ in own if name not in every):
        known = f"known are {', '.join(every)}"
        raise FormatError(f"no field of archives; {known}", path=SETTINGS_FILE, field=f"labels: {unknown}")
    return {
        kind: Words({**table, **{fold(w): name for name, words in own if name in named[kind] for w in words}})
        for kind, table in _BUILT_IN.items()
    }


def fact_named(label: str) -> str | None:
    """Return what a label states about the archive itself."""
    return _look_up(label, _in_use.get()[""])


def field_named(label: str, kind: str) -> str | None:
    """Return the field of a kind that a label names; of `Nivel / Tier` either half may be known."""
    return _look_up(label, _in_use.get()[kind])


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def parted(key: str) -> str:
    """Return a key of data as words: `depends On` of `dependsOn`."""
    return _CAMEL.sub(" ", key)


_ARTICLE = re.compile(r"^(?:(?:the|our|der|die|das|la|le|les|el|los|las|il|het)\s+|l')")


_JOINED = re.compile(r"(.+?) (?:and|und|et|y|e|en|i|\u0438|&|\+) [^\W\d_]")
_HEADED, _SHORT = ("rationale", "confidence", "priority"), 3
_LISTED = ("alternatives", "rationale", "dependencies", "blocked_by", "resolution", "tier", "confidence")
"""Fields that the first part of a label names, whatever it is joined to: `Rejected options and why not`."""


def _is_headed(noun: str, rest: str, table: Words[str]) -> bool:
    """Say whether the first word of a label names its field: `alternatives considered`, `reasoning chain`."""
    name = table.get(noun)
    is_known = rest in STATES["D"] or rest in table
    is_more = name in _HEADED and len(rest) > _SHORT and not is_known and noun not in JOINING["D"]
    return rest.isalpha() and (name == "alternatives" or is_more)


@lru_cache(maxsize=16_384)
def _look_up(label: str, table: Words[str]) -> str | None:
    key = fold(parted(label))
    parts = [*map(fold, re.split(r"\s*[/|]\s*", label))] if "/" in label else []
    parts += [_ARTICLE.sub("", key, count=1)]
    noun, _, rest = key.partition(" ")
    parts += [noun] if _is_headed(noun, rest, table) else []
    parts += [joined[1]] if (joined := _JOINED.match(key)) and table.get(joined[1]) in _LISTED else []
    words = key.split()
    timely = [word for word in words if _CHANGES.get(word) == "now"] if len(words) > 1 else []
    parts += [" ".join(word for word in words if word not in timely)] if timely else []
    parts += [key.replace("ae", "a").replace("oe", "o").replace("ue", "u")] if "e" in key else []
    return next(
        (table[part] for part in (key, f"{key}s", key.removesuffix("s"), *parts) if part in table), None
    )
