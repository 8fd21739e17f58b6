"""Invented talk of many kinds, and what stands in it: one excerpt is a paragraph of the text below.

`U:` and `A:` are turns of a person and of the model; `%` is a line break. `+` lines say what is to be found,
in order: the kind, and words that the find holds, with little else. Nothing else may be found.
"""

from __future__ import annotations

import pytest

from forgekit.extraction.extract import extract
from forgekit.extraction.statements import Find
from forgekit.model.transcript import Speaker, Turn

EXCERPTS = """
# software: decided with a reason
U: After two weeks of testing we decided to ship the importer as a separate binary because the plugin API
   keeps changing.
A: Makes sense.
+ decision: we decided to ship the importer as a separate binary

# software: chose over
U: For the mobile app we chose Flutter over React Native.
A: Noted.
+ decision: we chose Flutter over React Native

# software: the user settles on one of two
A: Both SQLite and LMDB would do here.
U: ok let's go with SQLite
+ decision: let's go with SQLite

# software: dropping support
U: We're dropping support for Windows 7 in the spring release.
A: I'll remove the shims.
+ decision: We're dropping support for Windows 7

# agent narrates: nothing decided
U: the tests fail on CI, please fix
A: I'll look at the log first. Let me check the workflow file. Now I'll use grep to find the failing step.
   Let me fix the import.
A: Fixed. All tests pass.

# agent: a question only
U: Should we use Kafka or RabbitMQ?
A: It depends on how much ordering matters to you.

# options of the assistant, picked by letter
A: There are three ways:%A) keep the cron job%B) move to a queue%C) do it in the request
U: B please
+ decision: B

# options, the second one
A: Two options: 1. rename the column, 2. add a view with the new name.
U: Let's do the second one.
+ decision: Let's do the second one

# proposal accepted
A: I'd suggest we store the amounts as integer cents.
U: yes, do that
+ decision: yes, do that

# proposal doubted
A: I'd suggest we store the amounts as floats.
U: hmm, not sure about that

# an errand agreed to is no decision
A: Want me to run the tests again?
U: yes please

# we could, might, should
U: Maybe we could use Redis here, or perhaps we should just keep it in memory.
A: Perhaps.

# hypothetical
U: If we chose Oracle we would have to pay for licences every year.
A: True.

# negated
U: We haven't chosen a logging library.
A: OK.

# not yet decided which: a thread
U: We haven't decided yet whether to offer refunds.
A: Understood.
+ thread_open: We haven't decided yet whether to offer refunds

# quoted
U: The README says "we decided to use tabs" but nobody follows it.
A: I see.

# block quote
U: > we decided to use tabs%nobody follows this rule
A: I see.

# code
U: ```python%n# we decided to use tabs%nx = 1%n```%nwhy does this print nothing?
A: There is no print call.

# a fact
U: Git chose SHA-1 in 2005. PostgreSQL uses MVCC.
A: Correct.

# fiction
U: Write a short scene about a queen who leaves her castle.
A: That night we decided to leave the castle, she wrote. We chose the north road over the river.

# fiction told by the user
U: In my story the captain decided to burn the letters.
A: A strong image.

# the old choice was replaced
U: Originally we chose Angular. That was reversed last spring.
A: So what is used today?

# irony
U: yeah right, let's just use COBOL, what could go wrong
A: Ha.

# lookalike ids
U: My Nikon D850 and the T1000 printer do not fit in one bag. Take 2000 IU of D3.
A: A larger bag then.

# template
A: ## Decisions%| ID | Decision | Status |%|----|----|----|%| D001 | <decision text> | active |
U: fill that in

# records in lines
U: D001: Use Rust for the parser%- D002 — Keep the C bindings%T001: Port the fuzzer (OPEN)%T002: Pick a
   licence (RESOLVED)
A: Loaded.
+ decision: Use Rust for the parser
+ decision: Keep the C bindings
+ thread_open: Port the fuzzer
+ thread_resolved: Pick a licence

# a record no longer in force
U: D001: Use Rust for the parser (superseded by D004)%D004: Use Zig for the parser
A: Loaded.
+ decision: Use Zig for the parser

# mention of a record
U: D001 is still fine with me, is D002 too?
A: Yes.

# data: threshold
U: We agreed on 0.8 as the cut-off for the spam score.
A: I'll set it.
+ decision: We agreed on 0.8 as the cut-off for the spam score

# data: excluded
U: I've decided against imputing the missing ages; those rows are dropped.
A: Then 212 rows remain.
+ decision: I've decided against imputing the missing ages

# research: pre-registration
U: Decision: the primary outcome is pain at 12 weeks.
A: Recorded.
+ decision: the primary outcome is pain at 12 weeks

# research: blocked
U: The survey is on hold until the ethics board answers.
A: Understood.
+ thread_blocked: The survey is on hold until the ethics board answers

# research: open question
U: Open question: do we exclude left-handed people?
A: The protocol does not say.
+ thread_open: do we exclude left-handed people

# writing: the tense
U: I've settled on present tense for the whole book.
A: I'll rewrite the first chapter.
+ decision: I've settled on present tense for the whole book

# household: paint
U: My wife and I agreed to paint the kitchen yellow.
A: Lovely.
+ decision: My wife and I agreed to paint the kitchen yellow

# household: no
U: No screens after nine.
A: A good habit.
+ decision: No screens after nine

# household: still to do
U: We still need to find a babysitter for Friday.
A: Ask the neighbours.
+ thread_open: We still need to find a babysitter for Friday

# household: sorted
U: The question of the parking space is finally settled.
A: Great.
+ thread_resolved: The question of the parking space is finally settled

# household: blocked
U: We can't order the tiles until the plumber has been here.
A: When does he come?
+ thread_blocked: We can't order the tiles until the plumber has been here

# money: refinancing
U: We're going with the ten year fixed rate, since the variable one makes me nervous.
A: Understood.
+ decision: We're going with the ten year fixed rate

# money: cancelled
U: I'm cancelling the gym membership.
A: It ends on the 30th then.
+ decision: I'm cancelling the gym membership

# money: thinking about it
U: I'm thinking about selling the car.
A: What would you drive?

# travel: it is
U: Lisbon it is!
A: Shall I look for flights?
+ decision: Lisbon it is

# travel: tentative
U: I'm leaning towards Lisbon but Porto might be cheaper.
A: Porto is cheaper in May.

# health
U: My doctor and I decided to stop the tablets in June.
A: Noted.
+ decision: My doctor and I decided to stop the tablets in June

# work: meeting notes in a recap
A: Agreed so far: invoices go out on Mondays, the trial is 14 days, and support stays in-house.
U: right
+ decision: invoices go out on Mondays
+ decision: the trial is 14 days
+ decision: support stays in-house

# work: lists below labels
A: **Decisions**%- Launch on 4 May%- Keep the old logo until autumn%%**Open questions**%- Who writes the
   press release?%- Do we need a second server?
U: thanks
+ decision: Launch on 4 May
+ decision: Keep the old logo until autumn
+ thread_open: Who writes the press release
+ thread_open: Do we need a second server

# work: deferred
U: Let's come back to pricing next week.
A: OK.
+ thread_open: Let's come back to pricing next week

# work: decided and still open in one sentence
U: We decided to host it ourselves, but it's still unclear who will be on call.
A: OK.
+ decision: We decided to host it ourselves
+ thread_open: it's still unclear who will be on call

# the model repeats the user's decision
U: Let's use Terraform for the whole setup.
A: Great, you decided to use Terraform for the whole setup. I'll start with the network.
+ decision: Let's use Terraform for the whole setup

# continuing is not deciding
U: ok let's keep going
A: Sure.
U: I decided to take a break, back in an hour
A: Enjoy.

# German: decided and open
U: Wir haben beschlossen, die Werkstatt zu behalten. Noch offen: wer die Buchhaltung macht.
A: Verstanden.
+ decision: Wir haben beschlossen, die Werkstatt zu behalten
+ thread_open: wer die Buchhaltung macht

# French
U: On a décidé de garder le nom actuel parce que les clients le connaissent.
A: Très bien.
+ decision: On a décidé de garder le nom actuel

# Spanish
U: Hemos decidido usar tarifas planas.
A: De acuerdo.
+ decision: Hemos decidido usar tarifas planas

# Chinese
U: 我们决定使用本地模型。
A: 好的。
+ decision: 我们决定使用本地模型

# German: a maybe
U: Vielleicht nehmen wir doch den Zug.
A: Der ist teurer.

# wrapped lines
U: We decided to keep the two repositories apart for the time being and to%share only the build scripts.
A: OK.
+ decision: We decided to keep the two repositories apart for the time being

# a system note is nobody's word
U: <system-reminder>%we decided to delete everything%</system-reminder>%hello
A: Hello!

# pasted mail
U: Here is the email from the supplier:%%We decided to raise prices by 8 percent.
A: That is steep.

# superlatives and idioms
U: I chose poorly last night, too much coffee. It was decided by a coin toss, ha.
A: Ha.

# we store
U: We store dates in UTC rather than local time.
A: Good.
+ decision: We store dates in UTC rather than local time

# question about an old decision
U: Why did we decide to use Bazel? Did we choose it over Make?
A: I do not know.

# the model proposes only
U: How should I store passwords?
A: I recommend argon2id. You could also use scrypt. Let's use argon2id with 64 MB.

# the model reports its own choice
A: I decided to use a binary search instead of a scan because the table is sorted.
U: nice
+ decision: I decided to use a binary search instead of a scan

# label: decision made
U: Ok, decision made: we ship on Friday.
A: Good.
+ decision: we ship on Friday

# name of one of two
A: Do you want weekly or monthly invoices?
U: monthly please
+ decision: monthly

# placeholders in a phrase
U: A good sentence is: we decided to [action] because [reason].
A: Indeed. We chose X over Y is a good pattern too.

# code with a comment behind it
U: x = compute(a)  # we decided to cache this
A: I see.

# hearsay
U: Apparently we agreed to move to Berlin? My colleague says we decided to close the office.
A: Strange.

# a fact with a year
U: The committee chose Paris in 1924.
A: And in 2024.

# a rule for all
U: Every pull request needs two approvals.
A: I'll set the branch rule.
+ decision: Every pull request needs two approvals

# plan B
A: Plan A: drive on Saturday. Plan B: take the night train on Friday.
U: plan B
+ decision: plan B

# the number alone
A: Which one?%1. Blue cover%2. Red cover%3. No cover image
U: 2
+ decision: 2

# agreed, by a word, to a proposal
A: My proposal: tenants pay for the heating, the landlord pays for the lift.
U: Agreed.
+ decision: Agreed

# closing a thread by its id
U: T004 is resolved, the lawyer answered.
A: Good.
+ thread_resolved: T004 is resolved, the lawyer answered

# heading of a record
A: ## Decision%We will host the wiki ourselves.%%## Consequences%Somebody has to patch it.
U: ok
+ decision: We will host the wiki ourselves

# undone at once
U: We decided to use gRPC. Scratch that.
A: So REST?

# a table of decisions
A: | Decision | Reason |%|---|---|%| Pay by invoice | clients insist |%| No cash | too much work |
U: fine
+ decision: Pay by invoice
+ decision: No cash

# research: the model narrates
A: I've decided to look into the logs first. We need to check whether the index exists. The request was
   blocked by the proxy. I was stuck on this line.
U: ok

# deferred
U: The dark theme is deferred to the next release.
A: OK.
+ thread_open: The dark theme is deferred to the next release

# shelved
U: The podcast was shelved.
A: A pity.
+ thread_abandoned: The podcast was shelved

# not for now
U: don't push yet
A: OK.

# this one only
U: Cash only, cards cost us too much.
A: I'll make a sign.
+ decision: Cash only

# a rule behind a label
U: House rule: no shoes indoors.
A: Good.
+ decision: no shoes indoors

# both still have to decide
A: Noted. We still need to decide how the old invoices are numbered.
U: yes
+ thread_open: We still need to decide how the old invoices are numbered

# fixed, and how
A: Fixed: the missing page was a binding error.
U: thanks
+ thread_resolved: Fixed: the missing page was a binding error

# a thread that is open
A: The choice of the printer remains open.
U: ok
+ thread_open: The choice of the printer remains open

# a row that was superseded
A: | D011 | Pay by cheque | 0.6 | superseded by D012 |%| D012 | Pay by transfer | 0.9 | active |
U: ok
+ decision: Pay by transfer
"""
KINDS = {
    "decision",
    "thread_open",
    "thread_resolved",
    "thread_blocked",
    "thread_abandoned",
}


def talk(*said: str) -> tuple[Turn, ...]:
    """Make turns of `U: ...` and `A: ...`."""
    return tuple(
        Turn(
            number=number,
            speaker=Speaker.USER if one.startswith("U:") else Speaker.ASSISTANT,
            time=None,
            text=one[2:].strip(),
        )
        for number, one in enumerate(said, 1)
    )


def excerpts() -> list[tuple[str, tuple[Turn, ...], list[tuple[str, str]]]]:
    found = []
    for block in EXCERPTS.strip().split("\n\n"):
        name, *lines = block.replace("\n  %", "%").replace("\n   ", " ").splitlines()
        said = [line.replace("%", "\n") for line in lines if line[:2] in {"U:", "A:"}]
        wanted = [tuple(line[2:].split(": ", 1)) for line in lines if line.startswith("+ ")]
        assert len(said) + len(wanted) == len(lines), name
        found.append((name.removeprefix("# "), talk(*said), [(kind, words) for kind, words in wanted]))
    return found


@pytest.mark.parametrize(("turns", "wanted"), [pytest.param(t, w, id=n) for n, t, w in excerpts()])
def test_finds_what_was_decided_and_what_is_open(
    turns: tuple[Turn, ...], wanted: list[tuple[str, str]]
) -> None:
    found = extract(turns)

    assert len(found) == len(wanted), [(one.kind.value, one.text, one.why) for one in found]
    for find, (kind, words) in zip(found, wanted, strict=True):
        assert find.kind.value == kind
        assert words in " ".join(find.text.split())
        assert len(find.text) <= len(words) + 45
        _is_in_place(find, turns)


def _is_in_place(find: Find, turns: tuple[Turn, ...]) -> None:
    assert turns[find.turn - 1].text[find.start : find.end] == find.text
    assert 0 < find.confidence <= 1
    assert find.title
    assert "\n" not in find.title
    assert len(find.title) <= 200
    assert find.why


def test_there_are_excerpts_of_every_kind() -> None:
    kinds = {kind for _, _, wanted in excerpts() for kind, _ in wanted}

    assert kinds == KINDS
    assert len(excerpts()) >= 60
