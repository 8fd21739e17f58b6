"""What conversations seem to have decided, answered by a person: `review`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from forgekit import console, conventions
from forgekit.archives.conversations import STATUS
from forgekit.cli.call import Call
from forgekit.cli.changes import (
    done,
    finding_text,
    findings_after,
    headline,
    print_contradictions,
    print_findings,
    written,
)
from forgekit.conflict.judge import Level
from forgekit.conflict.pairs import Finding
from forgekit.conflicts import resolve, settle
from forgekit.errors import AmbiguousError, NotFoundError, UsageError
from forgekit.filing.review import Answers, Reviewed, Seen, Waiting, answer, refusal, seen, waiting
from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.insight.conventions import Life
from forgekit.model.entities import Candidate, Decision, Thread
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import statement
from forgekit.times import format_date

_ANSWERS = "y registers, e rewords, m merges, r revises, n rejects, s skips, q ends"
_OF_CONVENTIONS = "y registers, e rewords, m merges, n rejects, s skips, q ends"
_CONTEXT = 320
"""Characters of a context in a list."""
_CHOICES = "1 or 2 keeps that one, b keeps both for different scopes, d dismisses, s skips, q ends"


def review(call: Call) -> None:
    """Review candidates."""
    options, forge, project, approve_above = call.options, call.forge, call["project"], call["approve_above"]
    named = any(call[name] for name in ("approve", "reject", "merge", "revise", "titles"))
    answering = named or approve_above is not None
    if call["only_list"] and answering:
        raise UsageError("--list answers nothing; leave it out, or the answers")
    if project is not None and named:
        raise UsageError(
            "--project goes with --list and --approve-above; an answer names its candidate, leave it out"
        )
    if not answering:
        found = waiting(forge, project)
        if call["only_list"] or call.as_json or not console.is_terminal():
            _list(found, call)
            return
        answers = _asked(forge, found)
        if answers != Answers():
            _print_reviewed(answer(forge, answers, options), call)
        ready = conventions.waiting(forge, project=project).rows
        _ask_conventions(call, ready)
        print_contradictions(conventions.waiting(forge, project=project).contradictions)
        rows = _findings(call)
        _ask_findings(call, rows)
        if answers == Answers() and not rows and not ready:
            console.info("nothing to do" if found else "nothing waits")
        return
    answers = _given(call)
    if answers == Answers() and not call.as_json:
        console.info("nothing to do")
        return
    _print_reviewed(answer(forge, answers, options), call)


def _candidate(forge: Forge, name: str) -> EntityId:
    if name.startswith("cnv_"):
        raise UsageError(f"{name} is a convention; `forgekit convention approve {name}`, or reject")
    return forge.resolve(name, Kind.CANDIDATE)


def _given(call: Call) -> Answers:
    """Return the answers that options give."""
    forge, approve_above = call.forge, call["approve_above"]
    rejected = frozenset(_candidate(forge, name) for name in call["reject"] or ())
    merged = tuple(
        (_candidate(forge, name), forge.resolve(into, Kind.DECISION, Kind.THREAD))
        for name, into in call["merge"] or ()
    )
    revised = tuple(
        (_candidate(forge, name), forge.resolve(old, Kind.DECISION, Kind.CANDIDATE))
        for name, old in call["revise"] or ()
    )
    approved = frozenset(_candidate(forge, name) for name in call["approve"] or ())
    if approve_above is not None:
        others = rejected | {candidate for candidate, _ in (*merged, *revised)}
        sure = (
            item for item in waiting(forge, call["project"]) if item.candidate.confidence >= approve_above
        )
        approved |= {one for item in sure for one in item.ids} - others
    titles = tuple((_candidate(forge, name), text) for name, text in call["titles"] or ())
    return Answers(approve=approved, reject=rejected, merge=merged, revise=revised, titles=titles)


def _ready_text(life: Life) -> str:
    """Return a convention with its evidence and its duplicates."""
    each = life.convention
    lines = [f"{short_id(each.kind, each.id)}  {life.confidence:.2f}  convention, {each.origin.value}"]
    lines += [f"  {console.one_line(each.title)}  ({console.one_line(each.project_name)})"]
    lines += [f"  {console.one_line(line)}" for line in each.evidence]
    lines += [f"  says the same: {short_id(each.kind, key)}" for key in life.same]
    return "\n".join(lines)


def _ask_conventions(call: Call, rows: Sequence[Life]) -> None:
    """Ask about each convention; each answer is a commit."""
    forge, options = call.forge, call.options
    for number, life in enumerate(rows, 1):
        console.data(f"\n{number}/{len(rows)}  {_ready_text(life)}")
        name = life.convention.id
        while (reply := console.ask_key("y/e/m/n/s/q [s]: ")) not in {None, "q", "", "s"}:
            if reply in {"y", "n"}:
                status = "active" if reply == "y" else "rejected"
                written(conventions.answer(forge, [name], status, options=options), call)
            elif reply == "e" and (text := console.ask("text: ")):
                edited = conventions.edit(forge, name, text=text, options=options)
                written(edited, call)
                if not call.dry_run:
                    written(conventions.answer(forge, [edited.entity.id], "active", options=options), call)
            elif reply == "m" and (into := console.ask("into: ")):
                written(conventions.merge(forge, name, into, options=options), call)
            else:
                console.info(f"{str(reply)[:40]!r} is no answer: {_OF_CONVENTIONS}")
                continue
            break
        if reply in {None, "q"}:
            break


def _findings(call: Call) -> list[tuple[Finding, EntityId | None]]:
    """Return what the judge found and nobody answered, the likeliest first, with the side that yields."""
    forge, registry = call.forge, call.forge.registry()
    found = findings_of(forge, registry, wait_ms=BLOCK_WAIT_MS, finish_small=True)
    rows = [*found.with_losers(), *((each, None) for each in found.replacements)]
    if call["project"] is not None:
        owner = forge.known_project(call["project"], registry).id
        rows = [row for row in rows if owner in {row[0].a.project_uuid, row[0].b.project_uuid}]
    return sorted(rows, key=lambda row: (-row[0].judgement.probability, row[0].id))


def _ask_findings(call: Call, rows: list[tuple[Finding, EntityId | None]]) -> None:
    """Ask about each finding of the judge; each answer is a commit."""
    if rows:
        console.info(f"{console.count(len(rows), 'finding')} of the judge: {_CHOICES}")
    for number, (finding, loser) in enumerate(rows, 1):
        console.data(f"\n{number}/{len(rows)}  {finding_text(finding, loser)}")
        while (reply := console.ask_key("1/2/b/d/s/q [s]: ")) not in {None, "q", "", "s"}:
            if reply not in {"1", "2", "b", "d"}:
                console.info(f"{str(reply)[:40]!r} is no answer: {_CHOICES}")
            elif reason := console.ask("why: "):
                if reply in {"1", "2"}:
                    kept = _shown(finding)[int(reply) - 1]
                    written(resolve(call.forge, finding.id, kept.id, reason, options=call.options), call)
                else:
                    status = "scoped" if reply == "b" else "dismissed"
                    written(settle(call.forge, finding.id, reason, status, options=call.options), call)
                break
        if reply in {None, "q"}:
            break


def _shown(finding: Finding) -> tuple[Decision, Decision]:
    """Return both sides in the order in which they are shown."""
    return finding.later if finding.level is Level.REPLACEMENT else (finding.a, finding.b)


def _list(found: list[Waiting], call: Call) -> None:
    """List the candidates, and what the judge found, which wait for a person too."""
    if call.printed_json(found, "waiting"):
        return
    last = ""
    for item in found:
        candidate, same, around = item.candidate, "", seen(call.forge, item)
        if candidate.conversation_id != last:
            last = candidate.conversation_id
            console.data(f"{short_id(Kind.CONVERSATION, last)}  {console.one_line(around.title)}".rstrip())
        if item.same is not None:
            kind = Kind.DECISION if candidate.proposes.decides else Kind.THREAD
            same = f"  [registered as {short_id(kind, item.same)}]"
        title = console.one_line(candidate.candidate)
        again = f"  [{_times(item)}]" if item.again else ""
        console.data(f"{_headline(candidate)}  {title}  ({_source(candidate)}){same}{again}")
        if candidate.context:
            console.data(f"  context: {console.one_line(candidate.context)[:_CONTEXT]}")
        for one in around.alike:
            if item.same is None:
                state = f"{short_id(one.kind, one.id)}  {one.status.value}"
                waits = one.kind is Kind.CANDIDATE
                would = "r approves that and puts this in its place" if waits else _would(item)
                how = "takes back?" if waits else "alike"
                console.data(f"  {how}: {state}  {console.one_line(one.title)}; {would}")
    unanswered = conventions.waiting(call.forge, project=call["project"])
    ready = f" and {console.count(len(unanswered.rows), 'convention')}" if unanswered.rows else ""
    console.info(f"{console.count(len(found), 'candidate')}{ready} waiting")
    for life in unanswered.rows:
        console.data(_ready_text(life))
    print_contradictions(unanswered.contradictions)
    for finding, loser in _findings(call):
        console.data(finding_text(finding, loser))


def _asked(forge: Forge, found: list[Waiting]) -> Answers:
    """Ask about each candidate, until the last one, `q` or the end of the input."""
    if found:
        console.info(f"{console.count(len(found), 'candidate')} waiting: {_ANSWERS}; Ctrl-C writes nothing")
    answers = Answers()
    for number, item in enumerate(found, 1):
        around = seen(forge, item)
        _show(f"{number}/{len(found)}", item, around)
        reply = _reply_to(forge, item, around)
        if reply is None:
            break
        answers = answers.and_(reply)
    return answers


def _reply_to(forge: Forge, item: Waiting, around: Seen) -> Answers | None:
    """Ask about one candidate until there is an answer; None at the end."""
    while (reply := console.ask_key("y/e/m/r/n/s/q [s]: ")) not in {None, "q"}:
        if reply in {"", "s"}:
            return Answers()
        if reply == "y":
            return Answers(approve=item.ids)
        if reply == "n":
            return Answers(reject=item.ids)
        if reply == "e":
            text = console.ask(f"text [{console.one_line(item.candidate.candidate)}]: ")
            if text == "":
                return Answers(approve=item.ids)
            if text and statement(text):
                return Answers(approve=item.ids, titles=tuple((one, text) for one in item.ids))
            console.info("nothing is left of that as a text")
        elif reply in {"m", "r"}:
            answers = _joined(forge, item, around, revise=reply == "r")
            if answers is not None:
                return answers
        else:
            console.info(f"{str(reply)[:40]!r} is no answer: {_ANSWERS}")
    return None


def _joined(forge: Forge, item: Waiting, around: Seen, *, revise: bool) -> Answers | None:
    """Ask what a candidate is merged into, or is the revision of; None where it cannot be."""
    into = _target(forge, around)
    found = forge.registry().get(into) if into is not None else None
    if isinstance(found, Candidate):
        if revise:
            return Answers(revise=((item.candidate.id, found.id),), approve=frozenset(item.again))
        console.info(f"{short_id(found.kind, found.id)} is not registered yet; r puts this in its place")
    if not isinstance(found, (Decision, Thread)):
        return None
    if why := refusal(item.candidate, found, revise=revise, same=item.same):
        console.info(why)
        return None
    if not revise:
        return Answers(merge=tuple((one, found.id) for one in item.ids))
    return Answers(revise=((item.candidate.id, found.id),), approve=frozenset(item.again))


def _target(forge: Forge, around: Seen) -> EntityId | None:
    """Ask what a candidate is merged into; None where nothing of that name is registered."""
    first = " [1]" if around.alike else ""
    into = console.ask(f"into, a number above or any name{first}: ")
    if into == "" and around.alike:
        into = "1"
    if not into:
        console.info("merged into nothing")
        return None
    if into.isdecimal() and 0 < int(into) <= len(around.alike):
        return around.alike[int(into) - 1].id
    try:
        return forge.resolve(into, Kind.DECISION, Kind.THREAD)
    except (NotFoundError, AmbiguousError) as e:
        console.info(str(e))
        return None


def _show(place: str, item: Waiting, around: Seen) -> None:
    """Print all that a person needs to answer."""
    candidate = item.candidate
    console.data(f"\n{place}  {_headline(candidate)}\n  {console.one_line(candidate.candidate)}")
    lines = {
        "from": f"{_source(candidate)}{f', {around.speaker}' if around.speaker else ''}",
        "chat": around.title,
        "words": f"{around.before}>>>{candidate.quote}<<<{around.after}",
        "because": candidate.rationale,
        "context": candidate.context,
        "tier": "" if candidate.epistemic_tier is None else f"{candidate.epistemic_tier:g}",
        "priority": candidate.priority.value if candidate.priority else "",
        "builds on": ", ".join(short_id(Kind.DECISION, each) for each in candidate.dependencies),
        "rejected": "; ".join(candidate.alternatives_rejected),
        "governs": ", ".join(candidate.governs),
        "found by": candidate.why,
        "said again": _times(item),
    }
    alike = [
        f"{number}. {short_id(found.kind, found.id)}  {found.status.value}  {console.one_line(found.title)}"
        f"{'  (the same words)' if found.id == item.same else ''}"
        for number, found in enumerate(around.alike, 1)
    ]
    shown = {f"  {key}": " ".join(text.split()) for key, text in lines.items() if text}
    would = {"  would": _would(item)} if alike else {}
    console.fields({**shown, "  alike": "\n".join(alike) or "nothing that is registered", **would})


def _would(item: Waiting) -> str:
    """Return what answers would do with a decision or thread that is alike."""
    status = STATUS.get(item.candidate.proposes)
    joins = "says that it still holds" if status is None else "adds the conversation"
    if status is not None and status.ended:
        joins = f"makes it {status.value}"
    with_y = f"y too {joins}" if item.same is not None else "y registers another one"
    return f"m {joins}, {'r puts this in its place, ' if status is None else ''}{with_y}"


def _times(item: Waiting) -> str:
    return console.count(len(item.again), "more time") if item.again else ""


def _headline(candidate: Candidate) -> str:
    name = short_id(Kind.CANDIDATE, candidate.id)
    return f"{name}  {candidate.confidence:.2f}  {candidate.proposes.value}"


def _source(candidate: Candidate) -> str:
    conversation = short_id(Kind.CONVERSATION, candidate.conversation_id)
    turn = f" turn {candidate.turn}" if candidate.turn else ""
    project = console.one_line(candidate.project_name)
    return f"{project}, {conversation}{turn}, {format_date(candidate.created_at)}"


def _print_reviewed(found: Reviewed, call: Call) -> None:
    findings = findings_after(call, found.outcome, found.entities)
    if call.printed_json(found, findings=findings.with_losers()):
        return
    if found.outcome.diff:
        console.diff(found.outcome.diff)
    else:
        for entity in found.entities:
            console.data(headline(entity))
    print_findings(findings)
    states = sorted(Counter(candidate.status.value for candidate in found.answered).items())
    console.info(f"review: {', '.join(f'{n} {state}' for state, n in states)}: {done(found.outcome)}")
