"""What sentences of a follow-up archive state of its parent's records: `D1, D2 hold`, `D3 became D7`.

In: a page after its own records were read. Out: updates, for which the fold finds the parent's records, and a
claim for each sentence that gives one of them new words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from forgekit.archives.claims import (
    ANY_ID,
    BEGINNING,
    BEGINS_WITH_ID,
    Claim,
    ascii_of,
    bare,
    key_of,
    kind_of,
    rated,
    references,
    series_of,
)
from forgekit.archives.document import Node
from forgekit.archives.labels import field_named
from forgekit.archives.layout import introductions, title_of_list
from forgekit.archives.notes import stated_beside
from forgekit.archives.records import DECORATION, Page, Reader, end_of, labelled, paragraphs
from forgekit.archives.states import ENDS, clear_state, new_text, state_named
from forgekit.model.archive_record import Update
from forgekit.model.rules import one_line

_UPDATED = re.compile(rf"#?({ANY_ID})")
_AND_ID = re.compile(
    rf"(?:[^\W\d_]{{1,3}}\s+|[,&/+\u3001\u30fb\u3068\u548c\u2600-\u27bf\U0001f300-\U0001faff]\s*)?"
    rf"{DECORATION.pattern}({ANY_ID})"
)
_BEGINS = re.compile(rf"(?:^|\n|(?<=[.!?;\u3002])\s*)(?={DECORATION.pattern}#?{ANY_ID})")
_NOTED = re.compile(r"[(\[]([^()\[\]]+)[)\]][\s*:.\u2013\u2014-]*(?=\w)")
_QUOTED_ID = re.compile(rf"\s{{0,3}}>\s?[*_`]*({ANY_ID})(?=\W|$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=\u3002)")
_NEAR_START = 24
"""Characters of a line among which is the id that it begins with, behind marks."""
_FEW_WORDS = 12
"""The most words of a sentence that states that something goes on."""
_LISTED_LINES = 40
_BEHIND_ID = " \t*_`~|])>:.,=-\u2013\u2014\uff1a\u3011\uff09"


def read_updates(page: Page) -> list[Update]:
    """Return what sentences state became of a parent's records: `D2 is no longer valid: ...`.

    One that gives such a record new words becomes a claim with the fields behind it. Their lines are taken.
    """
    reader, known = Reader(page), {key_of(claim.local_id) for claim in page.found.claims}
    found = [each for each in _listed_under_states(page) if key_of(each.local_id) not in known]
    known |= {key_of(each.local_id) for each in found}
    own = set(filter(None, map(series_of, known)))
    made: list[tuple[range, list[Update], bool]] = []
    lists = [page.document.root.children, *(node.children for node in page.document.nodes if node.children)]
    places = {node.line: (nodes, at) for nodes in lists for at, node in enumerate(nodes)}
    for first, sentence in [*_sentences_of_ids(page), *_answers_to_quotes(page)]:
        ids, text = _ids_before(sentence)
        nodes, at = places.get(first, ((), 0))
        kinds = {kind for local_id in ids for kind in kind_of(local_id) or "DT"} - {"A"}
        rows = [row.strip(" :*_") for row in text.replace("*", "").split("\n")]
        line = next(filter(_has_words, rows), text)  # fields of a record may follow on the next ones
        states = {kind: state_named(line, kind) for kind in kinds}
        is_listed = not _has_words(text) and (len(ids) > 1 or _is_alone(nodes, at))
        is_update = _is_of_state(line, states.values()) or any(
            rated(line, kind) or _is_labelled(line, kind) for kind in kinds
        )
        keys = {*map(key_of, ids)}
        if not ids or not keys.isdisjoint(known) or not (is_listed or is_update):
            begun = _first_id(ascii_of(sentence))
            own.update(filter(None, map(series_of, ids or ([begun[1]] if begun else []))))
            continue
        is_new = states.get("D") == "revised" and not states.get("T") and len(ids) == 1
        new = new_text(one_line(text), "D") if is_new else ""
        if new and nodes and nodes[at].text.find(ids[0]) < _NEAR_START:
            reader.take_reworded(ids[0], new, nodes, at)
        else:
            lines = range(first, first + sentence.count("\n") + 1)
            said = _joined(text)
            updates = [Update(local_id=each, line=first, text=said) for each in ids]
            made.append((lines, updates, _names_end(line, states)))
            known |= keys
    updated = set(filter(None, (series_of(each.local_id) for _, some, _ in made for each in some)))
    for lines, updates, is_certain in made:
        if is_certain or not all(_is_among(own, updated, each.local_id) for each in updates):
            page.of_parents.update(lines)
            page.taken.update(lines)
            found += updates
    return found


def mark_open(page: Page, claims: Iterable[Claim]) -> None:
    """Mark the claims of threads below a title that says that its threads are open still."""
    lines, sections = page.document.lines, page.document.sections
    titles = introductions(lines)
    for claim in (each for each in claims if each.kind == "T"):
        above = bisect_left(sections, claim.line, key=lambda section: section.heading_line)
        names = {title_of_list(claim.line, titles, lines), sections[above - 1].title if above else ""} - {""}
        if any(clear_state(name, "T") == "open" for name in names):
            claim.values["goes_on"] = True


def _joined(text: str) -> str:
    """Return lines as one; a stop parts what is before a label that begins a line."""
    lines = [line.strip() for line in text.split("\n")]
    for n, line in enumerate(lines[1:], 1):
        label = labelled(line.lstrip("-*+> "))[0]
        if label and any(field_named(label, kind) for kind in "DT") and lines[n - 1][-1:] not in ".;!?":
            lines[n - 1] += "."
    return one_line(" ".join(lines))


def _is_among(own: Collection[tuple[str, int]], updated: Collection[tuple[str, int]], local_id: str) -> bool:
    """Say whether the ids before and behind an id in its series, if any is behind, are the archive's own."""
    if (series := series_of(local_id)) is None or (series[0], series[1] - 1) not in own:
        return False
    behind = [number for name, number in {*own, *updated} if name == series[0] and number > series[1]]
    return not behind or (series[0], series[1] + 1) in own


def _is_alone(nodes: Sequence[Node], at: int) -> bool:
    """Say whether a line goes on no paragraph, and nothing behind it belongs to it."""
    behind = nodes[at + 1] if at + 1 < len(nodes) else None
    begins = behind is not None and _ids_before(behind.text)[0]
    attached = behind is not None and not begins and behind.line == nodes[at].last + 1
    return bool(nodes) and nodes[at].level == 0 and not nodes[at].children and not attached


def _is_of_state(text: str, states: Iterable[str]) -> bool:
    """Return whether a sentence names a state: one that something goes on has few words."""
    words = _SENTENCE_END.split(text, maxsplit=1)[0].split()
    return any(states) and (len(words) <= _FEW_WORDS or not {"active", "open", ""}.issuperset(states))


def _is_labelled(text: str, kind: str) -> bool:
    """Say whether a text is nothing but labels with values."""
    said, given = stated_beside(text, kind, "")
    return bool(given) and not said


def _names_end(text: str, states: Mapping[str, str]) -> bool:
    """Say whether a line names an end and the record that made it: `superseded by D8`."""
    others = references(text)
    ended = {kind for kind, state in states.items() if state in ENDS}
    return bool(others) and (kind_of(others[0]) or "DT")[0] in ended


def _has_words(text: str) -> bool:
    return re.search(r"[^\W\d_]{2}", text) is not None


def _sentences_of_ids(page: Page) -> Iterator[tuple[int, str]]:
    """Yield first line and text of what begins with an id and is of no record, up to the next such."""
    for first, text in paragraphs(page, page.several):
        starts = [match.end() for match in _BEGINS.finditer(ascii_of(text))]
        for start, end in pairwise([*starts, len(text)]):
            sentence = text[start:end].strip()
            body, _, last = sentence.rpartition("\n")  # marks before the next id
            yield first + text.count("\n", 0, start), sentence if not body or _has_words(last) else body


def _answers_to_quotes(page: Page) -> Iterator[tuple[int, str]]:
    """Yield line and text of each paragraph below a quoted line that begins with an id, behind that id.

    So people answer a letter line by line; of what is quoted the id alone counts.
    """
    lines, own, number = page.document.lines, page.own, 0
    while number < len(lines):
        quoted = _QUOTED_ID.match(ascii_of(lines[number][:BEGINNING]))
        number += 1
        if quoted is None:
            continue
        while number < len(lines) and (not lines[number].strip() or lines[number].lstrip()[0] == ">"):
            number += 1
        first = number
        while number < len(lines) and lines[number].strip() and own[number]:
            number += 1
        if first < number and not BEGINS_WITH_ID.match(ascii_of(lines[first][:BEGINNING])):
            yield first + 1, f"{quoted[1]}: " + "\n".join(map(str.strip, lines[first:number]))


def _first_id(plain: str) -> re.Match[str] | None:
    """Return the match of the id that a sentence begins with."""
    return _UPDATED.match(plain, end_of(DECORATION, plain, 0))


def _ids_before(sentence: str) -> tuple[list[str], str]:
    """Return the ids that a sentence begins with, and the rest of it: `D1, D2 and D4 hold`."""
    ids, text = [], sentence
    match = _first_id(ascii_of(sentence))
    while match:
        ids.append(text[match.start(1) : match.end(1)])
        text = text[match.end() :].lstrip(_BEHIND_ID)
        match = _AND_ID.match(ascii_of(text))
    noted = _NOTED.match(ascii_of(text))
    if noted and (":" in noted[1] or not any(state_named(noted[1], kind) in ENDS for kind in "DT")):
        return [], text  # `E3 (active, tier 0.8): Survey by drone` is a record of its own
    return ids, bare(text)


def _listed_under_states(page: Page) -> Iterator[Update]:
    """Yield the ids that are alone below a heading that is a state, such as `Still in force`."""
    begun = {claim.line for claim in page.found.claims}
    for section in page.document.sections:
        if references(section.title):
            continue
        numbers = range(section.first_line, section.last_line + 1)
        lines = [page.document.lines[n - 1] for n in numbers if n not in begun]
        ids = references("\n".join(lines[:_LISTED_LINES]))
        others = re.compile("|".join(map(re.escape, ids)) or r"\A")
        # Behind a few lines of prose the rest of a long section is not looked at.
        parts = (others.sub("", " ".join(some)) for some in (lines[:_LISTED_LINES], lines))
        if ids and not any(re.search(r"[^\W\d_]{4}", part) for part in parts):  # `and` may part them
            for local_id in ids:
                if any(state_named(section.title, kind) for kind in kind_of(local_id) or "DT" if kind != "A"):
                    yield Update(local_id=local_id, line=section.first_line, text=section.title)
