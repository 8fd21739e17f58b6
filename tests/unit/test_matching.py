"""Match a record with an entity that is already registered."""

from __future__ import annotations

from forgekit.archives.fold import EntityIndex, abbreviates
from forgekit.ids import EntityId, conversation_id, decision_id, project_id
from forgekit.times import parse_instant

LEDGER, NEXUS = project_id("Ledger"), project_id("Nexus")
DAY = parse_instant("2026-03-04")


def made(project: EntityId, text: str) -> EntityId:
    return decision_id(project, text, conversation_id(project, "Talk", DAY))


KEYS = made(LEDGER, "Keys are time-ordered")
THEIRS = made(NEXUS, "Keys are time-ordered")


def known(*, renamed: bool = False) -> EntityIndex:
    found = EntityIndex(renamed=renamed)
    found.add(KEYS, LEDGER, "Keys are time-ordered")
    found.add(THEIRS, NEXUS, "Keys are time-ordered")
    return found


def match(
    text: str,
    project: EntityId,
    *,
    of: EntityIndex | None = None,
    short: EntityId | None = None,
    lineage: dict[str, EntityId] | None = None,
) -> EntityId | None:
    name = short and f"dec_{short[-12:]}"
    return (of or known()).match(
        text, project=project, lineage=[lineage or {}], local_id="D001", inherited=False, short=name
    )


def test_one_word_abbreviates_nothing() -> None:
    assert not abbreviates("Keys", "Keys are time-ordered")
    assert abbreviates("Ordered keys", "Keys are time-ordered")
    assert match("Keys", LEDGER, lineage={"D1": KEYS}) is None
    assert match("Ordered keys", LEDGER, lineage={"D1": KEYS}) == KEYS


def test_an_id_finds_what_its_own_project_knows_and_no_other() -> None:
    assert match("Ordered keys", LEDGER, short=KEYS) == KEYS
    assert match("Ordered keys", NEXUS, short=KEYS) is None


def test_an_id_beside_another_text_finds_nothing_where_nothing_may_be_renamed() -> None:
    assert match("Rows are kept", LEDGER, short=KEYS) is None
    assert match("Rows are kept", LEDGER, short=KEYS, of=known(renamed=True)) == KEYS


def test_the_same_text_is_found_in_the_own_project_alone_unless_an_ancestor_spoke_it() -> None:
    assert match("keys are time-ordered.", LEDGER) == KEYS
    assert match("keys are time-ordered.", NEXUS) == THEIRS
    assert match("keys are time-ordered.", project_id("Third")) is None
    assert match("keys are time-ordered.", LEDGER, lineage={"D007": THEIRS}) == THEIRS
