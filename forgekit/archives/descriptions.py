"""Which archive a few words describe: by its tag, its title or its day.

In: what a text says that it continues, as `the archive of 4 March ("Kitchen, first round")`, and the archives
that it may mean. Out: those that the most of it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from forgekit.archives.claims import ascii_of, parse_moment
from forgekit.archives.labels import MONTHS, letters
from forgekit.model.entities import Archive
from forgekit.times import UNKNOWN, Instant, format_date

QUOTED = re.compile(
    r"\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\u201e([^\u201c\u201d]+)[\u201c\u201d]"
    r"|\u00ab([^\u00bb]+)\u00bb|\u300c([^\u300d]+)\u300d|\u300e([^\u300f]+)\u300f"
)
_BRACKETED = re.compile(r"[(\uff08][^()\uff08\uff09]*[)\uff09]")
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/#-]*[A-Za-z0-9]")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_SHORTEST = 6
"""Letters of a title, or of a part of one, that are no chance."""
_BY_TITLE, _BY_DAY = 2, 1
_LONGEST = 400
"""Characters of a text in which its first line is looked for."""


def described(text: str, archives: Sequence[Archive]) -> list[Archive]:
    """Return the archives that a text describes best, the nearest first; none where it describes none.

    All whose tags it holds; else the one whose title or a part of it, or whose day, it gives, the last of
    several alike.

    Args:
        text: such as `KIT-1 of 18 January ("Kitchen, first round")`.
        archives: those that it may mean, in the order of time.
    """
    codes = [code.casefold() for code in _CODE.findall(text)]
    tagged = [archive for archive in archives if archive.compression_tag.casefold() in codes]
    if tagged:
        return sorted(tagged, key=lambda archive: codes.index(archive.compression_tag.casefold()))
    parts = [*_parts(text)]
    scores = [
        _BY_TITLE * any(_names_title(parts, title) for title in _titles(archive))
        + _BY_DAY * names_day(text, archive.compressed_at)
        for archive in archives
    ]
    best = max(scores, default=0)
    fitting = [archive for archive, score in zip(archives, scores, strict=True) if score == best]
    return fitting[-1:] if best else []


def names_day(text: str, moment: Instant) -> bool:
    """Say whether a text gives the day of a moment, with its year or without one."""
    try:
        return format_date(parse_moment(text, day_first=True)) == format_date(moment)
    except ValueError:
        pass
    if moment == UNKNOWN:
        return False
    year, month, day = map(int, format_date(moment).split("-"))
    if (written := re.search(r"(?<!\d)\d{4}(?!\d)", text)) and int(written.group()) != year:
        return False
    words = re.findall(r"\d+|[^\W\d_]+", ascii_of(text).casefold())
    names = [
        word for word in words if len(word) > 2 and any(name.startswith(word) for name in MONTHS[month - 1])
    ]
    return bool(names) and str(day) in words


def _parts(text: str) -> Iterable[str]:
    """Yield what is quoted in a text, else the text without dates in brackets, both as words."""
    quoted = [next(filter(None, match.groups())) for match in QUOTED.finditer(text)]
    for part in quoted or [_BRACKETED.sub(" ", text)]:
        yield _words(part)


def _titles(archive: Archive) -> tuple[str, str]:
    """Return an archive's title, and the first line of its text: in prose that is one."""
    return archive.conversation_title, archive.body[:_LONGEST].strip().partition("\n")[0]


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", letters(text)))


def _names_title(parts: Iterable[str], title: str) -> bool:
    whole = _words(title)
    return any(
        len(inner) >= _SHORTEST and (f" {inner} " in f" {outer} " or (_CJK.search(inner) and inner in outer))
        for part in parts
        for inner, outer in ((part, whole), (whole, part))
    )
