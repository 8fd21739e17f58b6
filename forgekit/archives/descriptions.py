"""Which archive a few words describe: by its tag, its title or its day.

In: what a text names as what it continues, as `the archive of 4 March ("Kitchen, first round")`, and the
archives of its project. Out: those that the most of it names. The archives are looked up by words and days,
so that a description is not compared with all archives.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

from forgekit.archives.claims import ascii_of, parse_moment
from forgekit.archives.labels import MONTHS, letters, names_parent
from forgekit.model.entities import Archive
from forgekit.times import UNKNOWN, format_date

QUOTED = re.compile(
    r"\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\u201e([^\u201c\u201d]+)[\u201c\u201d]"
    r"|\u00ab([^\u00bb]+)\u00bb|\u300c([^\u300d]+)\u300d|\u300e([^\u300f]+)\u300f"
)
_BRACKETED = re.compile(r"[(\uff08][^()\uff08\uff09]*[)\uff09]")
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/#-]*[A-Za-z0-9]")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_COUNTED_CJK = re.compile(rf"{_CJK.pattern}\d+|\d+{_CJK.pattern}")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{2}[.!;])\s(?!\d)|\u3002")  # not `Nr. 4`
_DAY_NUMBERS = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.(?!\d)")
_DAY_NAMES = (
    re.compile(
        r"(?<![\w.])(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|\u00ba)?\s+(?:de\s+|of\s+)?(?P<name>[^\W\d_]{3,12})(?!\w)"
    ),
    re.compile(r"(?<!\w)(?P<name>[^\W\d_]{3,12})\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\w)"),
)
_PARTS = re.compile(r"\n|\s[|\u00b7\u2022]\s")
_MONTHS, _DAYS, _LONG = 12, 31, 3
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_SHORTEST = 6
"""Letters of a title, or of a part of one, that are no chance."""
_BY_TITLE, _BY_DAY = 2, 1
_TITLES = 2
"""The title that an archive was filed with, and its first line."""
_LONGEST = 400
"""Characters of a text in which the lines that may name it are looked for."""


@dataclass(slots=True)
class Descriptions:
    """The archives of one project, in the order of time, by what may describe each.

    Attributes:
        by_tag, by_day, by_word: their places by folded tag, by day, and by each word of their titles.
        written: of each the days that its first lines give, with a year or without.
        wide: the places of those with a title in a script without blanks.
    """

    archives: Sequence[Archive]
    titles: list[list[str]] = field(default_factory=list)
    by_tag: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_day: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_word: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    written: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    wide: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Look at each archive once."""
        for place, archive in enumerate(self.archives):
            named = _named_parts(archive)
            titles = _titles(archive, named)
            self.titles.append(titles)
            self.by_tag[archive.compression_tag.casefold()].append(place)
            for day in {day for line in named for day in _days_written(line)}:
                self.written[day].append(place)
            if archive.compressed_at != UNKNOWN:
                self.by_day[format_date(archive.compressed_at)].append(place)
            for word in {word for title in titles for word in title.split()}:
                self.by_word[word].add(place)
            self.wide |= {place} if any(map(_CJK.search, titles)) else set()

    def find(self, text: str, child: Archive) -> list[Archive]:
        """Return the archives that a text in `child` describes best, the nearest first: `KIT-1 of 18 May`.

        All whose tags it holds; else the one whose title or a part of it, or whose day, it gives, the last of
        several alike. None is of a later time than the child, if that has a time.
        """
        tagged, titled = self._named(text, child)
        return [self.archives[place] for place in tagged or titled[-1:]]

    def projects(self, text: str, child: Archive) -> set[str]:
        """Return the projects of the archives that a text in `child` describes, whatever their project.

        A short title or a day is that of any project: one of the words of the child's title, and of no other
        project's titles, is in the parent's too, or their projects begin alike.
        """
        tagged, titled = self._named(text, child)
        given = _long_words(_words(text))
        own = _long_words(" ".join(_titles(child, _named_parts(child))[:_TITLES])) - given
        near = tagged or [
            place
            for place in titled
            if begins_alike(self.archives[place].project_name, child.project_name)
            or any(map(self._is_of_one, own & (words := self._words_of(place))))
            or len(given & words) > 1
        ]
        return {self.archives[place].project_name for place in near}

    def _named(self, text: str, child: Archive) -> tuple[list[int], list[int]]:
        """Return the places of the archives whose tags a text holds, else of those that it describes best."""
        codes = dict.fromkeys(code.casefold() for code in _CODE.findall(text))
        tagged = self._earlier((place for code in codes for place in self.by_tag.get(code, ())), child)
        if tagged:
            return tagged, []
        parts = [*_parts(text)]
        near = set().union(*(self.by_word.get(word, ()) for part in parts for word in part.split()))
        near |= self.wide if any(map(_CJK.search, parts)) else set()
        by_title = {
            place
            for place in near
            if any(_names_title(parts, title) or _numbers(parts, title) for title in self.titles[place])
        }
        by_day = {place for day in self._days(text) for place in self.by_day[day]}
        by_day |= {n for day in _days_written(text) for n in self.written[day] if self._is_undated(n)}
        scores = {
            place: _BY_TITLE * (place in by_title) + _BY_DAY * (place in by_day)
            for place in self._earlier(sorted(by_title | by_day), child)
        }
        best = max(scores.values(), default=0)
        return [], [place for place, score in scores.items() if score == best]

    def _words_of(self, place: int) -> set[str]:
        return {word for title in self.titles[place] for word in title.split()}

    def _is_of_one(self, word: str) -> bool:
        """Say whether a word is in titles of one project alone."""
        return len({self.archives[place].project_name for place in self.by_word[word]}) == 1

    def _is_undated(self, place: int) -> bool:
        return self.archives[place].compressed_at == UNKNOWN

    def _earlier(self, places: Iterable[int], child: Archive) -> list[int]:
        """Return the places of archives that are not the child and not of a later time."""
        until = child.compressed_at
        return [
            place
            for place in places
            if self.archives[place].id != child.id
            and (until == UNKNOWN or self.archives[place].compressed_at <= until)
        ]

    def _days(self, text: str) -> Iterator[str]:
        """Yield the days of archives that a text gives, with their year or without one."""
        with suppress(ValueError):
            day = format_date(parse_moment(text, day_first=True))
            yield from (day,) if day in self.by_day else ()
            return
        words, written = re.findall(r"\d+|[^\W\d_]+", ascii_of(text).casefold()), _YEAR.search(text)
        long = [word for word in words if len(word) > 2 and word.isalpha()]
        months = {
            number
            for number, names in enumerate(MONTHS, 1)
            if any(name.startswith(word) for name in names for word in long)
        }
        for day in self.by_day if months else ():
            year, month, number = map(int, day.split("-"))
            if month in months and str(number) in words and (not written or int(written.group()) == year):
                yield day


def _named_parts(archive: Archive) -> list[str]:
    """Return the first lines of an archive and their parts, without those that name what it continues."""
    head = _PARTS.split(archive.body[:_LONGEST].strip())
    return [part for part in head if part.strip() and not names_parent(part)]


def _titles(archive: Archive, named: Iterable[str]) -> list[str]:
    """Return the words of what may be an archive's title: the one it was filed with, and its first lines."""
    after = f", after {archive.inherits_from[0]}" if archive.inherits_from else ""  # of undated ones
    return [*map(_words, (archive.conversation_title.removesuffix(after), *named))]


def begins_alike(one: str, other: str) -> bool:
    """Say whether one name is the beginning of the other: `Ledger` of `Ledger \u2013 a paid newsletter`."""
    shorter, longer = sorted((_words(name).split() for name in (one, other)), key=len)
    return bool(shorter) and longer[: len(shorter)] == shorter


def _days_written(text: str) -> Iterator[tuple[int, int]]:
    """Yield month and day of the dates without a year in a text: `2 June`, `June 2`, `02.06.`."""
    for match in _DAY_NUMBERS.finditer(ascii_of(text)):
        day, month = int(match[1]), int(match[2])
        yield from ((month, day),) if 1 <= month <= _MONTHS and 1 <= day <= _DAYS else ()
    for match in (each for pattern in _DAY_NAMES for each in pattern.finditer(letters(text))):
        name, day = match["name"], int(match["day"])
        months = [n for n, names in enumerate(MONTHS, 1) if any(each.startswith(name) for each in names)]
        yield from ((months[0], day),) if len(months) == 1 and 1 <= day <= _DAYS else ()


def _numbers(parts: Iterable[str], title: str) -> bool:
    """Say whether a title has the number and the words of a part: `capsule 1` of `memory capsule no 1`.

    A word and the number right behind it are enough: `the minutes of meeting 1`.
    """
    held, pairs = {*title.split()}, {*pairwise(title.split())}
    for part in parts:
        words = part.split()
        long, digits = _long_words(part), {word for word in words if word.isdigit()}
        near = {pair for pair in pairwise(words) if pair[0].isalpha() and pair[1] in digits}
        if (long and digits and long | digits <= held) or not near.isdisjoint(pairs):
            return True
    return False


def _parts(text: str) -> Iterable[str]:
    """Yield what is quoted in a text, else the text without dates in brackets, both as words."""
    quoted = [next(filter(None, match.groups())) for match in QUOTED.finditer(text)]
    for part in quoted or [_SENTENCE_END.split(_BRACKETED.sub(" ", text), maxsplit=1)[0]]:
        yield _words(part)


def _long_words(text: str) -> set[str]:
    return {word for word in text.split() if len(word) >= _LONG and not word.isdigit()}


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", letters(text)))


def _names_title(parts: Iterable[str], title: str) -> bool:
    return any(_is_within(*pair) for part in parts for pair in ((part, title), (title, part)))


def _is_within(inner: str, outer: str) -> bool:
    """Say whether words are a part of others, and no chance; of `\u305d\u306e1` the number is enough."""
    if _COUNTED_CJK.search(inner):
        return re.search(rf"{re.escape(inner)}(?!\d)", outer) is not None
    is_part = f" {inner} " in f" {outer} " or (_CJK.search(inner) is not None and inner in outer)
    return len(inner) >= _SHORTEST and is_part
