"""`review` on a terminal: what a person sees of each candidate, and what becomes of each answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_export import message
from cli_runner import Cli
from fake_judge import install
from fake_reader import FakeReader
from repositories import git

from forgekit import console

TALK = "c1d2e3f4-0000-4000-8000-000000000001"
TEXTS = (
    "Where do the jobs live, and who retries them?",
    (
        "We looked at two ways. We decided to use Postgres for the job queue because it is already there, "
        "and everybody knows it. Redis would be one more thing to run."
    ),
    "Good. We chose to retry three times, with a pause.",
    "We decided on gRPC between the services.",
)


@pytest.fixture
def waiting(
    registry: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: FakeReader
) -> dict[str, str]:
    """File a conversation with three candidates beside a decision, and return the names of all of them."""
    reader.shares |= {QUEUE: 0.9, RPC: 0.88, RETRY: 0.85}
    said = [message("assistant" if n % 2 else "human", text, n) for n, text in enumerate(TEXTS)]
    talk = {"uuid": TALK, "name": "Queue design", "created_at": "2026-02-01T10:00:00Z", "chat_messages": said}
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps([talk]), encoding="utf-8")
    cli("decision", "new", "Use Postgres for the queue", "--project", "Nexus", root=registry)
    cli("ingest", "claude", str(export), "--project", "Nexus", "--with-text")
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    names = {item["candidate"]: item["short_id"] for item in cli("review", "--json").json}
    names["talk"] = cli("conversation", "list", "--json").json[0]["short_id"]
    names["decision"] = cli("decision", "list", "--json").json[0]["short_id"]
    return names


ANSWERS = "y registers, e rewords, m merges, r revises, n rejects, s skips, q ends"
CHOICES = "1 or 2 keeps that one, b keeps both for different scopes, d dismisses, s skips, q ends"
KEYS = "1/2/b/d/s/q [s]: "
HEAD = f"3 candidates waiting: {ANSWERS}; Ctrl-C writes nothing\n"
ASK = "y/e/m/r/n/s/q [s]: "
QUEUE, RPC, RETRY = (
    "We decided to use Postgres for the job queue",
    "We decided on gRPC between the services",
    "We chose to retry three times, with a pause",
)


def screens(names: dict[str, str]) -> list[str]:
    """Return what is shown of each candidate."""
    talk = names["talk"]
    return [
        f"""
1/3  {names[QUEUE]}  0.90  decision
  We decided to use Postgres for the job queue
  from      Nexus, {talk} turn 2, 2026-02-01, assistant
  chat      Queue design
  words     We looked at two ways. >>>We decided to use Postgres for the job queue because it is already \
there, and everybody knows it.<<< Redis would be one more thing to run.
  because   it is already there, and everybody knows it
  found by  read as a decision
  alike     1. {names["decision"]}  active  Use Postgres for the queue
  would     m says that it still holds, r puts this in its place, y registers another one
""",
        f"""
2/3  {names[RETRY]}  0.85  decision
  We chose to retry three times, with a pause
  from      Nexus, {talk} turn 3, 2026-02-01, user
  chat      Queue design
  words     Good. >>>We chose to retry three times, with a pause.<<<
  found by  read as a decision
  alike     nothing that is registered
""",
        f"""
3/3  {names[RPC]}  0.88  decision
  We decided on gRPC between the services
  from      Nexus, {talk} turn 4, 2026-02-01, assistant
  chat      Queue design
  words     >>>We decided on gRPC between the services.<<<
  found by  read as a decision
  alike     nothing that is registered
""",
    ]


def statuses(cli: Cli) -> dict[str, str]:
    return {item["candidate"]: item["status"] for item in cli("candidate", "list", "--json").json}


def test_merge_reword_and_approve(waiting: dict[str, str], cli: Cli) -> None:
    told = cli("review", stdin=b"m\n1\ny\ne\nUse gRPC between services\n")
    into = f"{ASK}into, a number above or any name [1]: "
    assert told.err == (
        f"{HEAD}{into}{ASK}{ASK}text [{RPC}]: review: 2 approved, 1 merged: committed as <commit>\n"
    )
    shown, made = told.out[: -len(last := "".join(told.out.splitlines(keepends=True)[-3:]))], last
    assert shown == "".join(screens(waiting))
    assert sorted(line.split("  ", 1)[1] for line in made.splitlines()) == [
        "Use Postgres for the queue",
        "Use gRPC between services",
        RETRY,
    ]
    assert statuses(cli) == {QUEUE: "merged", "Use gRPC between services": "approved", RETRY: "approved"}
    standing = cli("decision", "show", waiting["decision"], "--json").json
    assert len(standing["conversation_ids"]) == 1
    assert cli("review").err == "nothing waits\n"


def test_the_end_of_the_input_writes_what_was_answered(waiting: dict[str, str], cli: Cli) -> None:
    told = cli("review", stdin=b"n\n")
    assert told.out == "".join(screens(waiting)[:2])
    assert told.err == f"{HEAD}{ASK}{ASK}\nreview: 1 rejected: committed as <commit>\n"
    assert statuses(cli) == {QUEUE: "rejected", RPC: "waiting", RETRY: "waiting"}


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        (b"", f"{ASK}\n"),
        (b"q\n", ASK),
        (b"s\n\n\n", ASK * 3),
        (
            b"yes\ne\n\x07 \nm\nnobody\nm\nqueue\nq\n",
            (
                f"{ASK}'yes' is no answer: {ANSWERS}\n"
                f"{ASK}text [{QUEUE}]: nothing is left of that as a text\n"
                f"{ASK}into, a number above or any name [1]: "
                "no entity answers to 'nobody'; find its id with `forgekit search`\n"
                f"{ASK}into, a number above or any name [1]: "
                "no entity answers to 'queue'; find its id with `forgekit search`\n"
                f"{ASK}"
            ),
        ),
    ],
)
def test_no_answer_writes_nothing(registry: Path, cli: Cli, typed: bytes, asked: str) -> None:
    before = git(registry, "rev-parse", "HEAD")
    told = cli("review", stdin=typed)
    assert (told.code, told.err) == (0, f"{HEAD}{asked}nothing to do\n")
    assert (git(registry, "rev-parse", "HEAD"), git(registry, "status", "--porcelain")) == (before, "")


def test_without_a_kept_text_the_quote_is_shown(registry: Path, cli: Cli, waiting: dict[str, str]) -> None:
    for path in (registry / "archives" / "transcripts").rglob("*.md"):
        path.unlink()
    told = cli("review", stdin=b"q\n")
    quote = (
        "We decided to use Postgres for the job queue because it is already there, and everybody knows it."
    )
    assert f"  words     >>>{quote}<<<\n" in told.out
    assert f"  from      Nexus, {waiting['talk']} turn 2, 2026-02-01\n" in told.out


def test_what_waits_is_counted_listed_and_shown(waiting: dict[str, str], cli: Cli) -> None:
    told = cli("status")
    assert told.out.splitlines()[0].endswith("1 conversation, 3 candidates waiting")
    assert "candidates     3 waiting; `forgekit review`\n" in told.out
    status = cli("status", "--json").json
    assert (status["waiting_candidates"], status["projects"][0]["waiting_candidates"]) == (3, 3)
    rows = cli("candidate", "list", "--status", "waiting").out.splitlines()
    assert f"{waiting[RPC]}\twaiting\t0.88\tdecision\t{RPC}\tNexus" in rows
    assert len(rows) == 3
    shown = cli("candidate", "show", waiting[QUEUE]).out
    assert shown.startswith(f"{waiting[QUEUE]}  {QUEUE}\n")
    assert (
        "\nQuote\n\n  We decided to use Postgres for the job queue because it is already there, and " in shown
    )
    cli("review", "--approve-above", "0.88")
    assert cli("status", "--json").json["waiting_candidates"] == 1


def test_what_is_out_of_force_is_not_approved_until_it_is_decided_again(
    waiting: dict[str, str], cli: Cli
) -> None:
    old = cli("decision", "new", QUEUE, "--project", "Nexus").out.strip()
    cli("decision", "invalidate", old, "--reason", "too slow")
    told = cli("review", "--approve", waiting[QUEUE])
    found = waiting[QUEUE]
    assert told.code == 1
    assert told.err == (
        f"forgekit: {old} has the text of {found} and is invalidated; reject {found}, or decide it again "
        f"with `forgekit decision new` and then approve {found}\n"
    )
    assert statuses(cli)[QUEUE] == "waiting"
    talk = cli("conversation", "list", "--json").json[0]["short_id"]
    new = cli("decision", "new", QUEUE, "--project", "Nexus", "--conversation", talk).out.strip()
    cli("review", "--approve", found)
    became = {item["short_id"]: item.get("became") for item in cli("candidate", "list", "--json").json}
    assert (became[found] or "")[-12:] == new[-12:]


def test_a_conflict_that_the_judge_found_is_asked_about(
    registry: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    texts = ("The API is REST", "The API is GraphQL", "Always sign releases", "Maybe never sign releases")
    rest, graph, *_ = (
        cli("decision", "new", text, "--project", "Nexus", root=registry).out.strip() for text in texts
    )
    told = cli("review", stdin=b"x\n2\nclients ask for it\nd\n\ns\n")
    [conflict, possible] = (line.split()[-1] for line in told.out.splitlines() if "conflict cfl_" in line)
    assert told.out.splitlines()[1] == f"1/2  conflict {conflict}"
    assert f"\n2/2  possible conflict {possible}\n" in told.out
    assert told.err == (
        f"2 findings of the judge: {CHOICES}\n"
        f"{KEYS}'x' is no answer: {CHOICES}\n"
        f"{KEYS}why: review {conflict}: committed as <commit>\n"
        f"{KEYS}why: {KEYS}"
    )
    statuses = {one["short_id"]: one["status"] for one in cli("decision", "list", "--json").json}
    assert sorted((statuses[rest], statuses[graph])) == ["active", "superseded"]


def test_what_was_approved_is_what_an_archive_says_again(waiting: dict[str, str], cli: Cli) -> None:
    cli("review", "--approve", waiting[RETRY])
    text = f"# Conversation Archive: later\n\n## Decision Log\n\n### D001: {RETRY}\n"
    told = cli("sync-compression", "-", "--project", "Nexus", "--at", "2026-03-01", stdin=text.encode())
    assert told.code == 0
    [found] = [item for item in cli("decision", "list", "--json").json if item["decision"] == RETRY]
    assert (len(found["conversation_ids"]), found["last_validated"]) == (2, "2026-03-01T00:00:00Z")
