"""Real conversations, read in place, against what is known of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forgekit.model.transcript import ImportedConversation, Speaker
from forgekit.transcripts.formats import conversations

REAL = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"no real conversations in {REAL}: NOTHING OF THIS MODULE WAS READ"
)


def rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (REAL / name).read_text("utf-8").splitlines():
        yield json.loads(line)


def whole(name: str) -> list[ImportedConversation]:
    """Return the conversations of a file that is read without a remark."""
    found = list(conversations([str(REAL / name)]))
    talks = [one for one in found if isinstance(one, ImportedConversation)]
    assert found == talks
    return talks


def test_the_sessions_agree_with_their_notes() -> None:
    sessions = prompts = events = 0
    for truth in rows("claude_code_truth.jsonl"):
        (talk,) = whole(truth["file"])
        assert (talk.source, talk.external_id) == ("claude-code", truth["session_id"])
        own = [turn for turn in talk.turns if turn.speaker is Speaker.USER and not turn.aside]
        assert [turn.line for turn in own] == truth["human_prompt_lines"]
        summaries = [turn.number for turn in talk.turns if turn.compaction]
        lines = [talk.turns[number - 1].line for number in summaries]
        assert lines == [e["line"] for e in truth["compaction_events"] if e["kind"] == "compact_summary"]
        assert list(talk.compacted) == summaries
        assert sum(turn.compaction for turn in talk.turns) == truth["n_compactions"]
        assert (talk.unknown, talk.branches_left, talk.resumes) == ((), 0, ())
        assert all(turn.text or turn.tools for turn in talk.turns)
        sessions, prompts, events = sessions + 1, prompts + len(own), events + len(summaries)
    assert (sessions, prompts, events) == (41, 376, 24)


def test_the_histories_agree_with_their_notes() -> None:
    number = 0
    for truth in rows("specstory_index.jsonl"):
        (talk,) = whole(truth["file"])
        assert talk.source == "specstory"
        assert talk.external_id in truth["session_marker"]
        users = sum(turn.speaker is Speaker.USER for turn in talk.turns)
        assert (users, len(talk.turns) - users) == (truth["n_user_turns"], truth["n_agent_turns"])
        tools = (REAL / truth["file"]).read_text("utf-8").count("\n<tool-use ")
        assert sum(len(turn.tools) for turn in talk.turns) >= tools > -1
        number += 1
    assert number == 15


def test_the_exports_agree_with_what_they_were_made_from() -> None:
    labelled = {row["id"]: row for row in rows("extraction.jsonl")}
    ids = {row["claude_ai_uuid"]: row for row in rows("exports_synthetic/index.jsonl")}
    ids |= {row["chatgpt_id"]: row for row in rows("exports_synthetic/index.jsonl")}
    for form, name in (("claude", "claude_ai"), ("chatgpt", "chatgpt")):
        talks = whole(f"exports_synthetic/{name}_conversations.json")
        assert len(talks) == 38
        for talk in talks:
            assert talk.source == form
            known = [turn["text"].strip() for turn in labelled[ids[talk.external_id]["label_id"]]["turns"]]
            said = [turn.text.strip() for turn in talk.turns]
            assert said[-len(known) :] == known
            assert talk.title
            assert talk.started is not None


def test_the_small_chatgpt_exports_are_read() -> None:
    talks = whole("chatgpt/ailog_conversations.json") + whole("chatgpt/looselips_conversations.json")
    assert [len(talk.turns) for talk in talks] == [4, 2, 2, 2, 2, 2, 2]
    assert all(talk.turns[0].speaker is Speaker.USER for talk in talks)
    assert {talk.branches_left for talk in talks} == {0}
