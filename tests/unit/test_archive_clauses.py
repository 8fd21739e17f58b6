"""What clauses of a follow-up archive say of a parent's records."""

from __future__ import annotations

import pytest
from fold_archives import archive, decision, the_decision, the_thread, thread

from forgekit.archives.ancestry import project_continued
from forgekit.archives.descriptions import Descriptions
from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.frozen import replace
from forgekit.model.entities import Decision, DecisionStatus, ThreadStatus

PARENT = archive(
    "PARENT_1",
    "2026-03-04",
    decision("D1", "The stall is run by the scouts"),
    decision("D2", "We grow 30 trays of tomatoes"),
    decision("D3", "Posters in A4, printed by Mina"),
    thread("T1", "Which slot for the van?"),
    thread("T2", "Do we need a licence?"),
)
HEAD = "# Plant sale\n\n**Tag:** SALE_2\n**Date:** 2026-04-01\n**Continues:** PARENT_1\n\n"


def _after(text: str, *earlier: str) -> FoldResult:
    """Fold the parent, earlier archives and one that follows."""
    pairs = [PARENT]
    for number, each in enumerate((*earlier, text)):
        head = HEAD.replace("SALE_2", f"SALE_{number + 2}").replace("04-01", f"04-0{number + 1}")
        parent = "PARENT_1" if number == 0 else f"SALE_{number + 1}"
        read = read_archive(head.replace("PARENT_1", parent) + each)
        pairs.append((identify(head + each, read, ImportOptions(), PARENT[0].project_name), read))
    return fold(pairs)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("- dropped D1 because they have camp that weekend\n", DecisionStatus.INVALIDATED),
        ("- D1 withdrawn, Thursday is bell practice and nobody told us\n", DecisionStatus.INVALIDATED),
        ("An D1 hat sich nichts ge\u00e4ndert.\n", DecisionStatus.ACTIVE),
        ("- nothing changes: D1, D2 and D3\n", DecisionStatus.ACTIVE),
        ("- D2: We grow 30 trays of tomatoes\n  - Depends on: D1\n", DecisionStatus.ACTIVE),
    ],
)
def test_a_clause_says_the_state_of_a_decision_wherever_its_id_stands(
    line: str, status: DecisionStatus
) -> None:
    found = the_decision(_after(line), PARENT, "D1")
    assert (found.status, found.decision) == (status, "The stall is run by the scouts")


def test_what_takes_over_is_named_in_the_clause() -> None:
    said = _after("- D4: Large posters are printed in Leeds\n- D3 is over, D4 takes over from D3\n")
    old = the_decision(said, PARENT, "D3")
    assert old.status is DecisionStatus.SUPERSEDED
    assert said.entities[old.superseded_by or old.id].title == "Large posters are printed in Leeds"


@pytest.mark.parametrize(
    ("line", "resolution"),
    [
        ("- T1: settled, we take the Tuesday slot\n", "we take the Tuesday slot"),
        ("The council wrote at last. T1 is answered: the morning.\n", "the morning."),
    ],
)
def test_what_stands_behind_a_state_is_the_answer(line: str, resolution: str) -> None:
    found = the_thread(_after(line), PARENT, "T1")
    assert (found.status, found.resolution) == (ThreadStatus.RESOLVED, resolution)


@pytest.mark.parametrize(
    ("line", "resolution"),
    [
        ("T2 is resolved: none below 200 euro\n", "none below 200 euro"),
        ("- T2 is resolved: none below 200 euro\n", "none below 200 euro"),
        ("**T2** is closed: none below 200 euro\n", "none below 200 euro"),
    ],
)
def test_an_end_is_no_record_where_a_sentence_names_the_parent(line: str, resolution: str) -> None:
    text = f"# Plant sale, part 2\n\nThis goes on from PARENT_1.\n\n{line}\n- D4: Mina prints flyers too\n"
    read = read_archive(text)
    child = identify(text, read, ImportOptions(), PARENT[0].project_name)
    found = the_thread(fold([PARENT, (child, read)]), PARENT, "T2")
    assert (found.status, found.resolution) == (ThreadStatus.RESOLVED, resolution)
    assert [record.local_id for record in read.decisions] == ["D4"]
    assert read.possible == ()


@pytest.mark.parametrize(
    ("line", "resolution"),
    [
        ("**Resolved since last time:** T2: none below 200 euro\n", "none below 200 euro"),
        ("We can forget T2, none is needed.\n", "none is needed."),
        ("- None below 200 euro. This answers T2. It costs nothing.\n", "This answers T2."),
    ],
)
def test_an_answer_holds_no_sign_for_the_id(line: str, resolution: str) -> None:
    assert the_thread(_after(line), PARENT, "T2").resolution == resolution


@pytest.mark.parametrize(
    "line",
    [
        "## Decisions\n\n- The stall is run by the school (replaces D1), because they have camp.\n",
        "## Decisions\n\n- The stall is run by the school, which replaces D1.\n",
    ],
)
def test_a_new_decision_replaces_a_parents_one_and_is_not_replaced_by_it(line: str) -> None:
    said = _after(line)
    old = the_decision(said, PARENT, "D1")
    assert old.status is DecisionStatus.REVISED
    new = said.entities[old.superseded_by or old.id]
    assert new.title.rstrip(".") == "The stall is run by the school"
    assert isinstance(new, Decision)
    assert new.status is DecisionStatus.ACTIVE


def test_what_stays_settled_keeps_its_answer() -> None:
    said = _after("- T1 and T2 stay settled\n", "- T1: settled, we take the Tuesday slot\n")
    assert the_thread(said, PARENT, "T1").resolution == "we take the Tuesday slot"


def test_a_change_without_the_new_text_is_kept_beside_the_old_one() -> None:
    said = _after("- D2 stays, but now 40 trays instead of 30\n")
    texts = [each.title for each in said.entities.values()]
    assert "We grow 30 trays of tomatoes (stays, but now 40 trays instead of 30)" in texts
    assert the_decision(said, PARENT, "D2").status is DecisionStatus.REVISED


def test_stars_at_the_end_of_a_line_are_a_tier() -> None:
    log = "05 Jan  [DR1] two to four players \u2605\u2605\u2605\u2605\u2606\n        why: solo needs a bot\n"
    found = read_archive(f"Salt road, log\n\n{log}09 Jan  test game, too long\n").decisions[0]
    assert (found.text, found.tier) == ("two to four players", 0.8)


def test_entries_of_data_are_clauses() -> None:
    lines = "since_last:\n  D1: dropped, they have camp\n  T2: 'answered: no licence for five hours'\n"
    said = _after(f"```yaml\n{lines}```\n")
    assert the_decision(said, PARENT, "D1").status is DecisionStatus.INVALIDATED
    assert the_thread(said, PARENT, "T2").resolution == "no licence for five hours"


def test_a_note_below_a_record_is_about_it_and_the_last_one_counts() -> None:
    notes = "- D1: The stall is run by the scouts\n  \u21b3 12/4: withdrawn, they have camp\n"
    gone = the_decision(_after(notes), PARENT, "D1")
    again = f"{notes}  \u21b3 20/4: in force again, the camp was moved\n"
    back = the_decision(_after(again, notes), PARENT, "D1")
    assert (gone.status, back.status) == (DecisionStatus.INVALIDATED, DecisionStatus.ACTIVE)


def test_of_undated_archives_a_child_reinstates_what_its_parent_ended() -> None:
    parent = archive("OLD_1", "2026-03-04", decision("D1", "Tea by the scouts"))
    texts = (
        "# Sale 2\n\n**Tag:** OLD_2\n**Continues:** OLD_1\n\n- D1 withdrawn, they have camp\n",
        "# Sale 3\n\n**Tag:** OLD_3\n**Continues:** OLD_2\n\n- D1 is in force again, the camp was moved\n",
    )
    pairs = [parent]
    for text in texts:
        read = read_archive(text)
        pairs.append((identify(text, read, ImportOptions(), parent[0].project_name), read))
    for order in (pairs, pairs[::-1]):
        assert the_decision(fold(order), parent, "D1").status is DecisionStatus.ACTIVE


@pytest.mark.parametrize(
    ("text", "parents"),
    [
        ("# Lichen, archive no. 2\n\n*Goes on from archive no. 1 of 9 May.*\n", ("archive no. 1 of 9 May",)),
        ("\u25a0 \u4f1a\u8a71 \u7b2c2\u53f7\n\u524d\u53f7\uff1a\u7b2c1\u53f7\n", ("\u7b2c1\u53f7",)),
    ],
)
def test_a_number_may_name_the_parent(text: str, parents: tuple[str, ...]) -> None:
    assert read_archive(f"{text}\n- D1: Play three rounds\n").inherits_from == parents


@pytest.mark.parametrize("named", ["Nr. 4", "Minutes no. 4", "\u7b2c4\u56de"])
def test_a_number_alone_is_found_in_the_head_of_the_archive_that_it_names(named: str) -> None:
    heads = [f"Minutes Nr. {n} (no. {n}, \u7b2c{n}\u56de)\nNight ferry, {n} June\n" for n in (3, 4, 5)]
    archives = [identify(each, read_archive(each), ImportOptions(), "Ferry") for each in heads]
    child = replace(archives[2], inherits_from=(named,))
    assert Descriptions(archives).find(named, child) == [archives[1]]


def _project(parent_title: str, title: str, named: str, *others: str) -> str | None:
    """Return the project that a follow-up of an archive in project Mill has, beside archives of others."""
    old, new = (
        f"# {parent_title}\n\n**Date:** 2026-03-01\n",
        f"# {title}\n\n**Date:** 2026-04-01\n**Continues:** {named}\n",
    )
    parent = identify(old, read_archive(old), ImportOptions(), "Mill")
    more = [identify(each, read_archive(each), ImportOptions(), "Other") for each in others]
    return project_continued(identify(new, read_archive(new), ImportOptions(), "Unsorted"), [parent, *more])


@pytest.mark.parametrize(
    ("title", "named", "project"),
    [
        ("Paper mill voices / 2", "Paper mill voices / 1", "Mill"),
        ("Voices two", "the archive of 1 March", "Mill"),
        ("Garden two", "the archive of 1 March", None),
        ("Paper mill voices / 2", "Summer songs / 1", None),
    ],
)
def test_an_archive_without_a_project_is_of_that_of_its_parent(
    title: str, named: str, project: str | None
) -> None:
    assert _project("Paper mill voices / 1", title, named) == project


def test_a_word_that_is_in_titles_of_several_projects_names_none() -> None:
    given = ("Voices archive 1", "Voices archive 2", "the archive of 1 March")
    assert _project(*given) == "Mill"
    assert _project(*given, "# Other voices archive\n") is None


def test_a_record_below_a_heading_is_no_list_of_a_parent_s_ids() -> None:
    read = read_archive(f"{HEAD}## Decision Log\n\n### D4: Use A\n")
    assert ([each.local_id for each in read.decisions], read.updates) == (["D4"], ())
