"""HTML, tables of one record and ids in code behind words, written as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from forgekit.archives.markup import open_cards, put_ids_first, write_html
from forgekit.archives.read import read_archive

HTML = [
    "<h2>Agreed</h2>",
    "<dl>",
    '  <dt id="B">B. Use <b>gas</b></dt>',
    "  <dd>Why: <s>cheap</s> small</dd>",
    "</dl>",
]
CARD = [
    "| P01 | |",
    "|---|---|",
    "| Decided | Use gas |",
    "| Trust | 85% |",
    "",
    "| a | b |",
    "|---|---|",
    "| c | d |",
]
CODE = ["- [x] **Use gas** `DEC-A` (done)", "- [ ] **Keep Bob** `DEC-B`", "- **Read** `README`"]


@pytest.mark.parametrize(
    ("write", "lines", "written"),
    [
        (write_html, HTML, ["## Agreed", "<dl>", "- B. Use **gas**", "  - Why: ~~cheap~~ small", "</dl>"]),
        (open_cards, CARD, ["### P01", "", "- Decided: Use gas", "- Trust: 85%", *CARD[4:]]),
        (put_ids_first, CODE, ["- [x] DEC-A: **Use gas** (done)", "- [ ] DEC-B: **Keep Bob**", CODE[2]]),
        (put_ids_first, CODE[1:], CODE[1:]),
    ],
)
def test_other_markup_is_written_as_markdown(
    write: Callable[[list[str], Sequence[int]], None], lines: list[str], written: list[str]
) -> None:
    lines = list(lines)
    write(lines, range(len(lines)))
    assert lines == written


def test_a_table_of_one_record_is_read() -> None:
    read = read_archive(
        "## Decisions\n\n| D1 | |\n|---|---|\n| Decision | Use gas |\n| Confidence | 85% |\n"
        "| Reason | small |\n\n| D2 | |\n|---|---|\n| Decision | Keep Bob |\n| Depends on | D1 |\n"
    )
    assert [(d.local_id, d.text, d.tier, d.rationale, d.dependencies) for d in read.decisions] == [
        ("D1", "Use gas", 0.85, "small", None),
        ("D2", "Keep Bob", None, "", ("D1",)),
    ]


def test_ids_of_letters_are_what_a_record_depends_on() -> None:
    read = read_archive(
        "## Decisions\n\n- **DEC-1: Use gas**\n  - Reason: small\n- **DEC-2: Keep Bob**\n- **DEC-3: Sell**\n"
        "  - Depends on: DEC-1; DEC-2\n"
    )
    assert read.decisions[2].dependencies == ("DEC-1", "DEC-2")
