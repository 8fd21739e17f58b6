"""Measure what the reader finds in heads of archives: name, parents, project and day.

    python benchmarks/heads.py

`heads-sealed.zip` holds 160 heads by a hand of which nothing is trained on, marked like those of
`training/reader`. Two records are put below each. Only figures are printed; the heads are not read by those
who change the reader, and every scoring is logged in `SCORES.md`.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from forgekit.archives.read import read_archive
from forgekit.times import format_date

ZIP = Path(__file__).resolve().with_name("heads-sealed.zip")
MARK = re.compile(r"⟦([a-z]+)(?:\.([^|⟦⟧]*))?\|([^⟦⟧]*)⟧")
RECORDS = "\n\n- D1: Buy the blue one\n- T1: Who paints the door?\n"
SHORTEST = 4
"""Letters of a name that may be a part of another."""


def main() -> int:
    """Print the table."""
    print(f"{ZIP.name} sha256 {hashlib.sha256(ZIP.read_bytes()).hexdigest()}")
    count: Counter[tuple[str, str]] = Counter()
    with zipfile.ZipFile(ZIP) as heads:
        for name in heads.namelist():
            text = heads.read(name).decode()
            wanted: dict[str, set[str]] = defaultdict(set)
            for kind, value, words in MARK.findall(text):
                wanted[kind].add(value if kind == "date" else _key(words))
            read = read_archive(MARK.sub(r"\3", text) + RECORDS)
            _count(count, "tag", wanted["tag"], {_key(read.tag)})
            _count(count, "project", wanted["project"], {_key(read.project)})
            _count(count, "parent", wanted["parent"], map(_key, read.inherits_from))
            if "" not in wanted["date"]:
                _count(count, "date", wanted["date"], {format_date(read.created) if read.created else ""})
    for kind in ("tag", "parent", "project", "date"):
        print(f"{kind:8} {count[kind, 'right']} of {count[kind, 'all']} found, {count[kind, 'wrong']} wrong")
    return 0


def _key(words: str | None) -> str:
    return " ".join(re.findall(r"[^\W_]+", (words or "").casefold()))


def _count(count: Counter[tuple[str, str]], kind: str, wanted: set[str], given: Iterable[str]) -> None:
    """Add how many of the wanted values are given; of tag, project and day any one is enough."""
    found = {each for each in given if each}
    alike = [each for each in wanted if any(_is_alike(each, other) for other in found)]
    several = kind == "parent"
    count[kind, "all"] += len(wanted) if several else bool(wanted)
    count[kind, "right"] += len(alike) if several else bool(alike)
    count[kind, "wrong"] += sum(not any(_is_alike(each, other) for other in wanted) for each in found)


def _is_alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= SHORTEST and shorter in longer)


if __name__ == "__main__":
    sys.exit(main())
