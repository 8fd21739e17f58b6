"""What a find carries: ids of its own, reasons, alternatives, titles; and whose words are never read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_reader import FakeReader

from forgekit.extraction.extract import extract
from forgekit.extraction.sentences import before_document
from forgekit.extraction.statements import Find, Run, Words, labelled, runs_in, statements
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Attachment, Speaker, Turn


def talk(*said: str) -> tuple[Turn, ...]:
    """Make turns of `U: ...` and `A: ...`."""
    speakers = {"U": Speaker.USER, "A": Speaker.ASSISTANT}
    return tuple(
        Turn(number=number, speaker=speakers[one[0]], time=None, text=one[2:].strip())
        for number, one in enumerate(said, 1)
    )


def only(*said: str, reader: dict[str, str] | None = None) -> Find:
    (found,) = extract(talk(*said), FakeReader(reader or {}))
    return found


EVERYTHING = FakeReader({"We decided to delete everything": "dec", "we decided to delete everything": "dec"})


def test_a_record_has_its_id_and_is_certain() -> None:
    found = extract(talk("U: Decisions so far:\n- **D001** — Use Rust\n- D002: Keep C bindings (0.8)"))

    assert [(one.explicit_id, one.title, one.confidence) for one in found] == [
        ("D001", "Use Rust", 1.0),
        ("D002", "Keep C bindings", 1.0),
    ]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("OPEN", Proposal.THREAD_OPEN),
        ("open", Proposal.THREAD_OPEN),
        ("RESOLVED", Proposal.THREAD_RESOLVED),
        ("done", Proposal.THREAD_RESOLVED),
        ("BLOCKED by T003", Proposal.THREAD_BLOCKED),
        ("ABANDONED", Proposal.THREAD_ABANDONED),
    ],
)
def test_a_thread_record_has_its_state(state: str, kind: Proposal) -> None:
    found = only(f"A: T007: Port the fuzzer ({state})")

    assert (found.kind, found.title, found.explicit_id) == (kind, "Port the fuzzer", "T007")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Who pays for the HSM? (High)", Proposal.THREAD_OPEN),
        ("[OPEN] Who pays for the HSM? (high, turn 4)", Proposal.THREAD_OPEN),
        ("Who pays for the HSM? (high, blocked by T001)", Proposal.THREAD_BLOCKED),
        ("Who pays for the HSM? \u2014 RESOLVED: we do", Proposal.THREAD_RESOLVED),
    ],
)
def test_brackets_of_a_record_are_no_part_of_its_title(said: str, kind: Proposal) -> None:
    found = only(f"A: Noted.\n\n- **T009:** {said}")

    assert (found.kind, found.title, found.text) == (kind, "Who pays for the HSM?", "Who pays for the HSM?")


@pytest.mark.parametrize("state", ["superseded by D009", "rejected", "withdrawn", "proposed", "revised"])
def test_a_decision_record_that_is_not_in_force_is_left_out(state: str) -> None:
    assert extract(talk(f"A: D003: Use Perl ({state})")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "D001: <decision>",
        "D001: ...",
        "D001: [your decision here]",
        "D001: TBD",
        "| D001 | {{decision}} | active |",
        "Take 2000 IU of D300 a day.",
        "D001 is fine, but D002 conflicts with it.",
        "see D001, D002 and T003",
    ],
)
def test_templates_and_mentions_are_no_records(text: str) -> None:
    assert extract(talk(f"U: {text}")) == ()


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("T001: Which queue?", ["Which queue?"]),
        ("**T002:** Should we keep the database? - resolved", ["Should we keep the database?"]),
        ("T003: is still open. What about T004?", []),
        ("T003 should wait, or not?", []),
    ],
)
def test_a_thread_record_may_be_any_question(text: str, titles: list[str]) -> None:
    assert [found.title for found in extract(talk(f"U: {text}"))] == titles


def test_records_are_read_from_a_pasted_archive_but_its_prose_is_not() -> None:
    found = extract(
        talk(
            "U: Here is the continuation archive.\n\n"
            "| ID | Decision |\n|---|---|\n| D004 | Use WAL mode |\n\n"
            "Last week we decided to buy a boat."
        )
    )

    assert [(one.explicit_id, one.title) for one in found] == [("D004", "Use WAL mode")]


def test_a_decision_has_its_reason_and_what_was_not_taken() -> None:
    found = only(
        "U: We chose Flutter over React Native because one person maintains it.",
        reader={"We chose Flutter": "dec", "React Native": "rej", "one person maintains it": "why"},
    )
    assert found.title == "We chose Flutter"
    assert found.text == "We chose Flutter over React Native because one person maintains it."
    assert (found.rationale, found.alternatives) == ("one person maintains it", ("React Native",))


@pytest.mark.parametrize("comma", [",", ""])
def test_a_statement_that_ends_where_its_reason_begins_goes_on_with_it(comma: str) -> None:
    said = f"Ok then. For the kitchen here we take induction{comma} because we have a toddler at home. Fine."
    reader = {f"we take induction{comma} because": "dec", "we have a toddler": "why"}
    found = only(f"U: {said}", reader=reader)
    assert found.text == said[len("Ok then. ") : -len(" Fine.")]
    assert found.title == found.text.rstrip(".")
    assert found.rationale.endswith("we have a toddler at home")


def test_a_reason_may_stand_in_the_next_sentence() -> None:
    said = "U: We keep the monolith. Nobody has time to split it."
    found = only(said, reader={"We keep the monolith": "dec", "Nobody has time to split it": "why"})
    assert found.rationale == "Nobody has time to split it"


def test_words_of_most_of_a_sentence_are_the_whole_sentence() -> None:
    found = only(
        "U: Yes, we move the choir to Thursday then.", reader={"we move the choir to Thursday": "dec"}
    )
    assert found.text == "Yes, we move the choir to Thursday then."


class SubwordReader(FakeReader):
    """Returns the words that it was given for each turn."""

    def __init__(self, words: Words) -> None:
        super().__init__({})
        self._given = words

    def runs(self, turns: Sequence[tuple[bool, str]]) -> list[Run]:
        return runs_in(self._given for _ in turns)


def test_a_statement_ends_with_a_whole_word_where_tokens_are_parts_of_words() -> None:
    text = "so, keep getFileContent in the old small module"
    places = [(0, 2), (4, 8), (9, 12), (12, 19), (19, 23), (24, 26)]
    shares = [[0.1, 0.9, *([0.0] * 10)] if 1 <= n <= 3 else [1.0, *([0.0] * 11)] for n in range(6)]
    reader = SubwordReader(Words(places, [0] * 6, shares))
    [(_, found)] = statements([(True, text)], reader)
    assert found.title == "Keep getFileContent"


@pytest.mark.parametrize(
    ("tagged", "whole"),
    [
        ("use `uv run pytest", "use `uv run pytest`"),
        ("rates.py` as a table", "`rates.py` as a table"),
        ("now keep", "now keep"),
    ],
)
def test_a_statement_does_not_end_within_code(
    monkeypatch: pytest.MonkeyPatch, tagged: str, whole: str
) -> None:
    text = "Hm.\nuse `uv run pytest`, from now keep `rates.py` as a table of `a.py`"
    run = Run(0, text.index(tagged), text.index(tagged) + len(tagged), "instruction", "std", 0.9)
    reader = FakeReader({})
    monkeypatch.setattr(reader, "runs", lambda _: [run])
    [(_, found)] = statements([(True, text)], reader)
    assert found.text == whole


def test_a_statement_has_what_begins_and_ends_its_clause() -> None:
    text = "Fine, we are not going to use Kubernetes at all, it is too large"
    places = [(0, 4), (6, 8), (9, 12), (13, 16), (17, 22), (23, 25), (26, 29), (30, 40), (41, 43), (44, 47)]
    shares = [[0.1, 0.9, *([0.0] * 10)] if 5 <= n <= 7 else [1.0, *([0.0] * 11)] for n in range(10)]
    [(_, found)] = statements([(True, text)], SubwordReader(Words(places, [0] * 10, shares)))
    assert found.title == "We are not going to use Kubernetes at all"


@pytest.mark.parametrize(
    ("said", "tagged", "title"),
    [
        ("The purr it is! And legal form: a charity", "The purr it is", "The purr it is!"),
        ("So it is 75 euros, 6 against. Bonfires: no", "it is 75 euros", "So it is 75 euros"),
        ("It is 75 euros, 6 against. Bonfires: no", "It is 75 euros, 6 against", "It is 75 euros, 6 against"),
        (
            "So from now on we meet at 14:30 today, fine",
            "we meet at",
            "So from now on we meet at 14:30 today",
        ),
        (
            "Singers without mail: the leader prints a code. Done",
            "Singers without mail",
            "Singers without mail: the leader prints a code",
        ),
    ],
)
def test_a_statement_is_whole_and_ends_with_its_sentence(said: str, tagged: str, title: str) -> None:
    assert only(f"U: {said}", reader={tagged: "dec"}).title == title


def test_words_of_one_clause_are_one_statement() -> None:
    said = "A: The election of a new treasurer is postponed to the autumn meeting of the whole association."
    reader = {"The election of": "drop", "is postponed to the": "drop"}
    assert only(said, reader=reader).title.startswith("The election of a new treasurer is postponed")


def test_what_is_labelled_as_a_decision_is_one() -> None:
    text = "Decision: we go with Hetzner.\nDecision: TBD\nDecision: is it Hetzner or Scaleway?"
    assert [found.text for found in labelled(text)] == ["we go with Hetzner."]


def test_a_labelled_decision_keeps_its_quotations_and_not_what_is_struck() -> None:
    text = 'Decision: use `postgres` for ~~all~~ our "big data" sets.\nDecision: ~~use one more queue~~'
    (found,) = labelled(text)
    assert found.title == 'Use `postgres` for our "big data" sets'
    assert found.text == 'use `postgres` for ~~all~~ our "big data" sets.'


def test_a_labelled_decision_has_the_labelled_reason_and_alternatives_behind_it() -> None:
    text = "Decision: we go with Hetzner. Reason: no lock-in, cheap. Alternatives: AWS, Fly.io"
    (found,) = labelled(text)
    assert (found.title, found.rationale) == ("We go with Hetzner", "no lock-in, cheap")
    assert found.alternatives == ("AWS", "Fly.io")
    assert [one.rationale for one in labelled("Decision: we go with Hetzner. Let us see. Reason: a b c")] == [
        ""
    ]


def test_instructions_with_a_semicolon_between_them_are_one() -> None:
    parts = ("Never push to main", "open a pull request", "Be brief")
    turns = talk(f"U: {parts[0]}; {parts[1]}. {parts[2]}; the tests are slow.")
    found = extract(turns, FakeReader(dict.fromkeys(parts, "std")))
    assert [one.title for one in found] == ["Never push to main; open a pull request", "Be brief"]


def test_what_is_not_probable_enough_is_left_out() -> None:
    turns = talk("U: The van it is!")
    assert extract(turns, FakeReader({"The van it is": "dec"}, share=0.4)) == ()
    (found,) = extract(turns, FakeReader({"The van it is": "dec"}, share=0.6))
    assert found.confidence == 0.6


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("dec", Proposal.DECISION),
        ("wd", Proposal.DECISION),
        ("open", Proposal.THREAD_OPEN),
        ("done", Proposal.THREAD_RESOLVED),
        ("blk", Proposal.THREAD_BLOCKED),
        ("drop", Proposal.THREAD_ABANDONED),
        ("std", Proposal.INSTRUCTION),
    ],
)
def test_each_kind_of_statement_proposes_what_it_is(tag: str, kind: Proposal) -> None:
    assert only("U: The water is off.", reader={"The water is off": tag}).kind is kind


def test_constraints_and_proposals_alone_are_no_candidates() -> None:
    reader = FakeReader({"We open in nine weeks": "con", "take the van": "prop"})
    assert extract(talk("A: You could take the van.", "U: We open in nine weeks."), reader) == ()


def test_a_long_title_is_cut_at_a_word() -> None:
    words = "write and rewrite " * 20 + "it"
    found = only(f"U: {words}", reader={words: "dec"})
    assert len(found.title) <= 200
    assert found.title.endswith("write\u2026")


def test_an_option_that_is_picked_gives_the_title() -> None:
    offered = "A: Options:\nA) Keep the cron job\nB) Move to a queue\nC) Do it inline"
    found = only(offered, "U: ok, option B please", reader={"ok, option B please": "dec"})
    assert (found.title, found.text, found.turn) == ("Move to a queue", "ok, option B please", 2)


def test_a_proposal_that_is_taken_up_gives_the_title() -> None:
    reader = {"store the amounts as `cents`": "prop", "do that": "dec", "as floats": "rej"}
    found = only("A: I'd store the amounts as `cents`, not as floats.", "U: fine, do that", reader=reader)
    assert (found.title, found.alternatives) == ("Store the amounts as `cents`", ("as floats",))


@pytest.mark.parametrize(
    ("said", "taken", "title"),
    [
        ("fine, do that", "do that", "Add a table for it"),
        ("a package then, we deploy it apart", "a package then", "A package then"),
        ("make it 3 tables", "make it 3 tables", "Make it 3 tables"),
    ],
)
def test_a_proposal_takes_the_place_of_words_that_only_accept_it(said: str, taken: str, title: str) -> None:
    reader = {"put it into `api.py`": "prop", "add a table for it": "prop", "so that": "prop", taken: "dec"}
    offered = "A: I could put it into `api.py` or a new package `worker`, or add a table for it. So that"
    assert only(offered, f"U: {said}", reader=reader).title == title


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("All 77 tests passed.\nDeploy to the test shard?", "Deploy to the test shard? Yes"),
        ("Segment size? **Fixed or configurable?**", "Segment size? Fixed or configurable? Yes"),
        ("Deploy to the test shard? It is free.", "Yes"),
        ("Should we " + "really " * 30 + "do it?", "Yes"),
    ],
)
def test_the_questions_before_a_short_answer_are_in_its_title(asked: str, title: str) -> None:
    assert only(f"A: {asked}", "U: yes", reader={"yes": "dec"}).title == title
    assert only(f"A: {asked}", "U: Yes. I wait here.", reader={"Yes": "dec"}).title == title
    assert only(f"A: {asked}", "U: I wait here. Yes", reader={"Yes": "dec"}).title == "Yes"


def test_a_proposal_that_is_cut_off_gives_no_title() -> None:
    reader = {"put the worker into": "prop", "do that": "dec"}
    found = only("A: I could put the worker into `api.py` or elsewhere.", "U: yes, do that", reader=reader)
    assert found.title == "Do that"


def test_a_reason_is_that_of_the_statement_beside_which_it_stands() -> None:
    words = "Let's do 5 retries for email. Invoices must never be retried, someone has to look at it."
    invoices = "Invoices must never be retried, someone has to look at it"
    reader = {"do 5 retries for email": "dec", invoices: "std"}
    whole, cut = {"someone has to look at it": "why"}, {"do 5 retries for email": "dec", "to look": "why"}
    for more in (reader, {**reader, **whole}, cut):
        found = {one.kind: one for one in extract(talk(f"U: {words}"), FakeReader(more))}
        assert found[Proposal.DECISION].rationale == ""
    own = {"do 5 retries": "dec", "the provider is slow": "why"}
    assert only("U: We do 5 retries, as the provider is slow today.", reader=own).rationale == (
        "as the provider is slow today"
    )


def test_tools_and_attachments_are_not_read() -> None:
    words = "We decided to delete everything."
    turn = Turn(
        number=1,
        speaker=Speaker.ASSISTANT,
        time=None,
        text="Done.",
        attachments=(Attachment(name="notes.txt", text=words),),
        tools=(words,),
    )
    assert extract((turn,)) == ()


def test_a_compaction_summary_offers_what_it_says_but_not_its_records() -> None:
    summary = Turn(
        number=2,
        speaker=Speaker.ASSISTANT,
        time=None,
        text="This session is being continued from a previous conversation.\n\n"
        "1. Key decisions:\n   - Queue failed webhooks for a day\n\n"
        "We agreed to keep the old endpoint.\n\n- D001: Use Rust\n\n"
        "2. Pending Tasks:\n   - Run the linter\n\n3. Next steps:\n   - Push the branch",
        compaction=True,
    )
    found = extract((summary,), FakeReader({"We agreed to keep the old endpoint": "dec"}))
    assert [(one.turn, one.kind, one.title, one.explicit_id) for one in found] == [
        (2, Proposal.DECISION, "Queue failed webhooks for a day", ""),
        (2, Proposal.DECISION, "We agreed to keep the old endpoint", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\nWe decided to delete everything.\n```",
        "~~~text\nWe decided to delete everything.\n~~~",
        "> We decided to delete everything.",
        "<result>\nWe decided to delete everything.\n</result>",
        "    We decided to delete everything.",
        "// We decided to delete everything.",
        "$ make report\nWe decided to delete everything.",
        "The note says “we decided to delete everything”.",
        "~~We decided to delete everything.~~",
        "`We decided to delete everything.`",
    ],
)
def test_what_is_not_said_is_not_read(text: str) -> None:
    assert extract(talk(f"U: see below\n\n{text}"), EVERYTHING) == ()


def test_a_fence_that_never_ends_hides_the_rest() -> None:
    assert extract(talk("U: ```\nWe decided to delete everything."), EVERYTHING) == ()


def test_the_same_words_are_found_once() -> None:
    turns = talk("U: We move to Porto.", "A: Good. You move to Porto.", "U: We move to Porto.")
    found = extract(turns, FakeReader({"We move to Porto": "dec", "You move to Porto": "dec"}))
    assert [one.turn for one in found] == [1]


def test_without_a_reader_only_records_and_labelled_lists_are_found() -> None:
    found = extract(
        talk("U: We decided to move.\n\nDecisions made:\n- Take the van\n\nOpen questions:\n- Who drives?")
    )
    assert [(one.kind, one.title) for one in found] == [
        (Proposal.DECISION, "Take the van"),
        (Proposal.THREAD_OPEN, "Who drives?"),
    ]


def test_nothing_is_found_in_nothing() -> None:
    assert extract(()) == ()
    assert extract(talk("U: ", "A: \n\n")) == ()


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("use kafka", "use kafka"),
        ("# Goal\nuse kafka", "# Goal\nuse kafka"),
        ("do this:\n# Plan\nuse kafka\n## Steps\none", "do this:\n"),
        ("do this:\n```\n# a\n# b\n```\nuse kafka", "do this:\n```\n# a\n# b\n```\nuse kafka"),
    ],
)
def test_a_document_begins_at_the_first_of_two_headings(message: str, own: str) -> None:
    assert before_document(message) == own
