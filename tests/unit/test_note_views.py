"""How much of a note is shown, what its essence is made of, and how topics keep their ids."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_entities import NAME, P, day

from forgekit.context import note_renditions
from forgekit.extraction.sentences import whole_sentences
from forgekit.ids import EntityId, note_id, topic_id
from forgekit.insight.budget import BlockPart, BlockRow, lay_out
from forgekit.insight.notes import (
    ESSENCE_LIMIT,
    Fidelity,
    Labels,
    Suggestion,
    candidates,
    choose,
    fidelity,
    phrases,
    suggest,
    theme,
)
from forgekit.insight.views import Derived
from forgekit.model.entities import Note, Topic, TopicStatus
from forgekit.model.registry import Registry
from forgekit.times import UNKNOWN, Instant

ACTIVE, ARCHIVED = TopicStatus.ACTIVE, TopicStatus.ARCHIVED


def note(title: str, at: int = 0, essence: str | None = "What it means.") -> Note:
    made = Note(
        note_id=note_id(P, title, day(at)),
        title=title,
        project_name=NAME,
        project_uuid=P,
        created_at=day(at),
        updated_at=day(at),
        tags=("storage",),
        body=f"The whole text of {title}, which is longer than what it means.",
    )
    return replace(made, essence=essence, essence_of=made.made_of) if essence else made


@pytest.mark.parametrize(
    ("age", "essence", "topics", "opened", "expected"),
    [
        (3, True, [ARCHIVED], None, Fidelity.FULL),
        (400, False, [ARCHIVED], None, Fidelity.FULL),
        (400, True, [ACTIVE, ARCHIVED], None, Fidelity.HIGH),
        (89, True, [ARCHIVED], None, Fidelity.HIGH),
        (179, True, [ARCHIVED], None, Fidelity.SUMMARY),
        (180, True, [ARCHIVED, ARCHIVED], None, Fidelity.SKELETON),
        (180, True, [], None, Fidelity.SUMMARY),
        (400, True, [ARCHIVED], 6, Fidelity.HIGH),
        (400, True, [ARCHIVED], 7, Fidelity.SKELETON),
    ],
)
def test_the_fidelity_follows_from_age_topics_and_the_last_opening(
    age: int, essence: bool, topics: list[TopicStatus], opened: int | None, expected: Fidelity
) -> None:
    one = note("A", 0, "E." if essence else None)
    seen = None if opened is None else day(age - opened)
    assert fidelity(one, topics, day(age), seen) is expected


def test_each_fidelity_has_its_words() -> None:
    one = note("Plan")
    short = f"nte_{one.id[-12:]}"
    skeleton = f"- {short} Plan [storage]"
    summary = f"{skeleton}: What it means."
    about = theme(one, ())
    assert note_renditions(one, Fidelity.SKELETON, about) == (skeleton,)
    assert note_renditions(one, Fidelity.SUMMARY, about) == (summary, skeleton)
    assert note_renditions(one, Fidelity.HIGH, about) == (f"{skeleton}: {one.body}", summary, skeleton)
    assert note_renditions(one, Fidelity.FULL, about) == (f"- {short} Plan: {one.body}", summary, skeleton)
    stale = replace(one, body="Another text, longer than it was before.")
    assert note_renditions(stale, Fidelity.SUMMARY, about)[0] == f"{skeleton}: {stale.body}"


def test_no_view_has_the_backslash_of_a_line_that_looks_like_a_merge() -> None:
    one = replace(note("Plan", essence=None), body="One.\n\n\\## Conflicting edits\n\nTwo.")
    assert Derived(Registry.of([one])).view(one)["content"] == "One.\n\n## Conflicting edits\n\nTwo."
    assert "\\" not in note_renditions(one, Fidelity.FULL, "")[0]


def test_an_essence_of_another_text_is_in_no_view() -> None:
    one = note("Plan")
    changed = replace(one, body="Another text.")
    shown, hidden = (Derived(Registry.of([each])).view(each) for each in (one, changed))
    assert (shown["essence"], hidden["essence"], hidden["essence_of"]) == ("What it means.", None, None)


def test_only_whole_sentences_of_running_text_can_be_an_essence() -> None:
    text = "# Queue of work\n\nWe keep [one queue](http://x) for all work. Yes.\n\n"
    text += "```\nmake the queue run.\n```\n"
    text += "\n| a | b |"
    assert candidates(whole_sentences(text), text) == ["We keep one queue for all work."]
    long = "word " * 100
    (cut,) = candidates(whole_sentences(long), long)
    assert len(cut) <= ESSENCE_LIMIT
    assert candidates([], "") == []
    assert "queue" in phrases("Queue of work", text)


def test_a_name_keeps_its_underscores_and_an_abbreviation_ends_no_line() -> None:
    text = "We call __bd_init__ with _one_ flag for a store that is made anew, e.g.\n"
    text += "The one of MAX_SIZE. It is kept."
    assert list(whole_sentences(text)) == [
        "We call bd_init with one flag for a store that is made anew, e.g. The one of MAX_SIZE.",
        "It is kept.",
    ]


@given(
    st.lists(st.text("abc .", min_size=1, max_size=ESSENCE_LIMIT), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_an_essence_is_sentences_of_the_text_in_its_order_within_the_limit(
    sentences: list[str], rnd: random.Random
) -> None:
    central = [rnd.random() for _ in sentences]
    alike = [[rnd.random() for _ in sentences] for _ in sentences]
    said = choose(sentences, central, alike)
    assert 0 < len(said) <= ESSENCE_LIMIT
    pairs = [f"{a} {b}" for at, a in enumerate(sentences) for b in sentences[at + 1 :]]
    assert said in (*sentences, *pairs)


def test_a_label_is_what_many_of_a_topic_say_and_few_of_all_notes() -> None:
    def about(title: str, at: int) -> Note:
        return note(title, at, f"This record says more of {title.split(maxsplit=1)[0]}.")

    queues = [
        about(f"Queue {word}", at) for at, word in enumerate(("limits", "retries", "order", "keys", "age"))
    ]
    twins = [about("Autoscaler using Prometheus", 9 + at) for at in range(2)]
    others = [about(f"Garden {word}", 20 + at) for at, word in enumerate(("roses", "walls", "water", "soil"))]
    labels = Labels([*queues, *twins, *others])
    assert labels.label([*queues * 2, *twins]) == "queue", (
        "two of twelve name no topic, nor does what all say"
    )
    assert labels.label(twins) == "autoscaler using prometheus"
    assert labels.label(queues[:1]) == "Queue limits", "nothing is shared"


def test_no_function_word_of_another_language_and_no_single_word_of_essences_is_a_label() -> None:
    spanish = [
        replace(note(f"{title} con {other}", at, f"El {title} viene con {other}."), body="Hay que ir con él.")
        for at, (title, other) in enumerate(
            (("Taller", "tijeras"), ("Reunión", "planos"), ("Riego", "cubos"))
        )
    ]
    english = [
        note(word, 9 + at, f"There are two of the {word}.")
        for at, word in enumerate(("Gates", "Wells", "Loaves"))
    ]
    labels = Labels([*spanish, *english, *(note(f"n{at}", 20 + at) for at in range(9))])
    assert (labels.label(spanish), labels.label(english)) == ("Taller con tijeras", "Gates")


NOTES = [note(f"n{at}", at) for at in range(12)]
IDS = [one.id for one in NOTES]
NOW = day(20)


def after(topics: list[Topic], clusters: list[list[EntityId]], now: Instant = NOW) -> list[Topic]:
    changed = {each.topic.id: each.topic for each in suggest(topics, NOTES, clusters, now)}
    return list(({topic.id: topic for topic in topics} | changed).values())


def kinds(topics: list[Topic], clusters: list[list[EntityId]], now: Instant = NOW) -> list[str]:
    return sorted(each.what for each in suggest(topics, NOTES, clusters, now))


def test_topics_are_made_grow_merge_split_rest_and_wake() -> None:
    topics = after([], [IDS[:4], IDS[4:8]])
    first, second = (topic_id(P, IDS[0]), topic_id(P, IDS[4]))
    assert {topic.id for topic in topics} == {first, second}
    assert suggest(topics, NOTES, [IDS[:4], IDS[4:8]], NOW) == []
    assert suggest(topics, NOTES, [IDS[:5], IDS[5:8]], NOW) == [
        Suggestion("notes", *_of(topics, first, IDS[:5], 4), 1, 0),
        Suggestion("notes", *_of(topics, second, IDS[5:8], 7), 0, 1),
    ]
    assert kinds(topics, [IDS[:8]]) == ["merge", "notes"]
    (merged,) = (t for t in after(topics, [IDS[:8]]) if t.status is TopicStatus.MERGED)
    assert (merged.id, merged.merged_into) == (second, first)
    one = after([], [IDS[:7]])
    assert kinds(one, [IDS[:4], IDS[4:7]]) == ["notes", "split"]
    assert kinds(topics, [IDS[:4], IDS[4:8]], day(100)) == ["archive", "archive"]
    resting = after(topics, [IDS[:4], IDS[4:8]], day(100))
    assert kinds(resting, [IDS[:4], IDS[4:8]], NOW) == ["reactivate", "reactivate"]


def test_a_new_note_beside_one_of_an_idle_topic_wakes_it_and_takes_none_out() -> None:
    topics = after([], [IDS[:4]], day(100))
    key = topic_id(P, IDS[0])
    assert [topic.status for topic in topics] == [ARCHIVED]
    found = suggest(topics, NOTES, [IDS[:3], [IDS[3], IDS[11]]], NOW)
    woken = replace(topics[0], status=ACTIVE, note_ids=(*IDS[:4], IDS[11]), updated_at=day(11))
    assert found == [Suggestion("reactivate", woken, 1, 0)]
    assert woken.id == key
    assert suggest([woken], NOTES, [IDS[:3], [IDS[3], IDS[11]]], NOW) == []
    assert suggest([], NOTES, [IDS[:2]], NOW) == [], "two notes make no topic"


def test_a_topic_begins_with_its_earliest_note_of_a_known_time() -> None:
    undated = replace(NOTES[0], created_at=UNKNOWN)
    (found,) = suggest([], [undated, *NOTES[1:4]], [IDS[:4]], NOW)
    assert found.topic.created_at == day(1)


def _of(topics: list[Topic], key: EntityId, ids: list[EntityId], last: int) -> tuple[Topic]:
    topic = next(topic for topic in topics if topic.id == key)
    return (replace(topic, note_ids=tuple(sorted(ids)), updated_at=day(last)),)


@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), st.randoms(use_true_random=False))
def test_suggestions_do_not_depend_on_order_and_are_done_once_applied(
    groups: list[int], rnd: random.Random
) -> None:
    clusters = [
        some
        for group in range(4)
        if len(some := [k for k, g in zip(IDS, groups, strict=True) if g == group]) > 1
    ]
    before = after([], [IDS[:3], IDS[3:7], IDS[7:]])
    found = suggest(before, NOTES, clusters, NOW)
    mixed = [rnd.sample(group, len(group)) for group in clusters]
    rnd.shuffle(mixed)
    assert suggest(rnd.sample(before, 3), rnd.sample(NOTES, 12), mixed, NOW) == found
    assert suggest(after(before, clusters), NOTES, clusters, NOW) == []


# The tests of the system that this design began from, as far as the ones above do not hold them. Its test of
# a budget contradicts its own code: 100 tokens are 400 characters, so the text of 214 that it puts in cannot
# come out in 200. It never looked at skeletons again, and its time of the last access was the age.


def test_an_empty_block_has_no_section_and_one_without_room_for_both_has_the_first() -> None:
    assert lay_out("", [], "", budget=1_000, cost=len).text == "\n"
    words = tuple(note_renditions(note(name, 3, None), Fidelity.FULL, "")[0] for name in ("First", "Second"))
    part = BlockPart(title="Notes", rows=[BlockRow((text,)) for text in words], total=2)
    one, both = (lay_out("", [part], "", budget=size, cost=len) for size in (240, 1_000))
    assert (one.kept, both.kept) == ((1,), (2,))
    assert len(one.text) <= 240
    assert words[0] in one.text
    assert words[1] not in one.text
    assert one.cut


def test_a_skeleton_comes_back_whole_by_an_opening_and_by_an_active_topic() -> None:
    old = note("Old")
    states = [(ARCHIVED, None), (ARCHIVED, day(199)), (ARCHIVED, None), (ACTIVE, None)]
    found = [fidelity(old, [status], day(200), seen) for status, seen in states]
    assert found == [Fidelity.SKELETON, Fidelity.HIGH, Fidelity.SKELETON, Fidelity.HIGH]
    assert old.body in note_renditions(old, found[1], "")[0]
