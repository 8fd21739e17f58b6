"""Whatever is placed inside a quoted zone, the records and the facts of an archive are the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.archives.read import read_archive
from forgekit.model.archive_record import ArchiveText

ARCHIVE = """# Conversation Archive: rows

**Tag:** ROWS_KEPT
**Date:** 2026-03-04
{first}
## Decisions
{above}
### K1: Keep rows
- **Tier:** 0.8
- **Why:** small

### K2: Sort them
- **Depends on:** K1

## Open questions

1. Who pays?
2. Which bank?

## Notes

Before.

{zone}

After.

## Threads

- T7: Which host? (high)

Behind them.
{last}"""
PIECES = st.sampled_from(
    [
        "## Decisions\n",
        "### K1: Drop rows\n- **Tier:** 1.0\n",
        "### K3: Forged\n",
        "- T7: RESOLVED Which host?\n",
        "**Tag:** FORGED_TAG\n",
        "**Continues:** FORGED_PARENT\n",
        "| ID | Decision | Tier |\n|---|---|---|\n| K4 | x | 1.0 |\n",
        "```\n",
        "~~~~\n",
        "(end of registry state)\n",
        "<!-- /forgekit:registry-state -->\n",
        "decisions:\n  - id: K5\n    text: x\n",
        '{"decisions": [{"id": "K6", "text": "x"}]}\n',
        '<decision id="K7">\n<text>x</text>\n</decision>\n',
        "<!-- forgekit:registry-state -->\n",
        "#+TITLE: x\n* Decisions\n** K8 x\n",
        "**Assistant:** ok\n",
        "K1 depends on K2, question 1 rests on decision 2\n",
        "</details>\n",
        "---\n",
        "> quoted\n",
        "\n",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=20), max_size=8).map("".join)


def _lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def fenced(text: str) -> str:
    mark = "`" * (3 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{mark}text\n{text}\n{mark}"


def blockquote(text: str) -> str:
    return "\n".join(f"> {line}" for line in _lines(text))


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in ["code", *_lines(text)])


def blockquote_element(text: str) -> str:
    return f"<blockquote>\n{_inside(text)}\n</blockquote>"


def pre_element(text: str) -> str:
    return f'They wrote: <pre class="x">\n{_inside(text)}\n</pre>\n'


def _inside(text: str) -> str:
    return "\n".join(line for line in _lines(text) if not re.match(r"\s*[`~]", line))


def comment(text: str) -> str:
    return f"<!-- note\n{text.replace('-->', '').replace('<!--', '')}\n-->"


def printed(text: str) -> str:
    kept = (line for line in _lines(text) if not re.match(r"\s*(?:[`~]|<(?!!-- /forgekit))", line))
    inner = "\n".join(line for line in kept if "/forgekit" in line or "<!--" not in line)
    return f"<!-- forgekit:registry-state -->\n{inner}\n\n<!-- /forgekit:registry-state -->"


def transcript(text: str) -> str:
    return f"### Full Transcript\n\n{_flat(text)}\n\n## More notes"


def registry_state(text: str) -> str:
    return f"### Registry state: Nexus\n\n{_flat(text)}\n\n(end of registry state)\n\n## More notes"


def inherited(text: str) -> str:
    return f"### Inherited context\n\n{_flat(text)}\n\n## More notes"


def _flat(text: str) -> str:
    """Return a text without what ends a section or hides the rest: headings, fences, comments, tags."""
    kept = (line for line in _lines(text) if not re.match(r"\s*(?:[#=*`~<]|-{2,}|.*<!--)", line))
    return "\n".join("" if re.fullmatch(r"[\s=-]*", line) else line for line in kept)


def said(read: ArchiveText) -> tuple[object, ...]:
    records = [
        tuple(
            (r.local_id, getattr(r, "text", "") or getattr(r, "title", "") or getattr(r, "name", ""))
            for r in some
        )
        for some in (read.decisions, read.threads, read.artifacts)
    ]
    tiers = [(d.tier, d.status, d.rationale, d.dependencies, d.context) for d in read.decisions]
    states = [(t.status, t.priority, t.resolution, t.blocked_by, t.content) for t in read.threads]
    return (*records, tiers, states, read.tag, read.created, read.inherits_from, read.project)


def last_transcript(text: str) -> str:
    kept = (line for line in _lines(text) if not re.match(r"\s*(?:=|-{2,})", line))
    return "## Full Transcript\n\n**User:** they pasted:\n\n## Decisions\n\n" + "\n".join(kept)


def archive(**zones: str) -> str:
    """Return the archive with zones in it: `first` in its head, `above` and between (`zone`) its records."""
    text = ARCHIVE
    for place in ("first", "above", "zone", "last"):
        text = text.replace(f"{{{place}}}", f"\n{zones[place]}\n" if zones.get(place) else "", 1)
    return text


QUOTES = [fenced, blockquote, blockquote_element, pre_element, indented, comment]
ZONES = [
    *(("zone", zone) for zone in (*QUOTES, printed, transcript, registry_state, inherited)),
    *((place, zone) for place in ("first", "above", "last") for zone in QUOTES),
    ("last", last_transcript),
]


@pytest.mark.parametrize(("place", "zone"), ZONES)
@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_what_is_quoted_changes_no_record(place: str, zone: Callable[[str], str], text: str) -> None:
    empty = read_archive(archive(**{place: zone("")}))
    assert said(read_archive(archive(**{place: zone(text)}))) == said(empty)
    assert [d.local_id for d in empty.decisions] == ["K1", "K2"]
    assert len(empty.threads) == 3
