"""Measure the extraction of decisions and threads: on labelled excerpts, and on real sessions of an agent.

Run: `python benchmarks/extraction.py [FOLDER] [--sealed] [--reader R] [--sample N --seed S] [--errors]`.
FOLDER (default `../shared/data`) holds `extraction.jsonl`, `score.py`, `dialogues/` and `claude_code/`.

Excerpts, dialogues and prompts are development data. `--sealed` scores `dialogues-sealed.zip` instead, with
its hash: only figures are printed, and every scoring is logged in `SCORES.md`. `prompts.jsonl` beside this
file says what a person reads in 300 prompts of the real sessions.
`--errors` prints each excerpt that is not read as labelled.
Of the real sessions N finds are drawn and printed with their source, to be judged by a reader.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from messages import scorer

sys.path.append(str(Path(__file__).resolve().parents[1] / "training" / "statements"))

from dialogues import read_dialogues

from forgekit.extraction.extract import extract
from forgekit.extraction.sentences import sentences
from forgekit.extraction.statements import Find, StatementReader
from forgekit.model.entities import Proposal
from forgekit.model.problem import Problem
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.models.encoder import Missing
from forgekit.models.statement_reader import find_statement_reader
from forgekit.transcripts.formats import conversations

Row = dict[str, Any]
AROUND = 160
HERE = Path(__file__).resolve().parent
SEALED, PROMPTS = HERE / "dialogues-sealed.zip", HERE / "prompts.jsonl"
READER: list[StatementReader] = []
"""The reader that all parts use, if there is one."""


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sample", type=int, default=0, help="finds of real sessions to print")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--sealed", action="store_true", help="score the sealed dialogues and nothing else")
    parser.add_argument("--reader", type=Path, help="folder of the statement reader; else the shipped one")
    given = parser.parse_args()
    found = find_statement_reader(Path(tempfile.gettempdir()), given.reader)
    if isinstance(found, Missing):
        print(f"SKIPPED: {found}; nothing below is read by a model", file=sys.stderr)
    else:
        READER.append(found)
    if given.sealed:
        _scored(given.folder / "dialogues", _sealed())
        return 0
    whole = _excerpts(given.folder, errors=given.errors)
    folder = given.folder / "dialogues"
    if not _skip(folder):
        _scored(folder, list(map(json.loads, (folder / "d.jsonl").read_text("utf-8").splitlines())))
    sessions = _sessions(given.folder, given.sample, given.seed)
    return 0 if whole and sessions else 1


def _skip(path: Path) -> bool:
    if path.exists():
        return False
    print(f"SKIPPED: there is no {path}; nothing below speaks of it", file=sys.stderr)
    return True


def _excerpts(folder: Path, *, errors: bool) -> bool:
    if _skip(folder / "extraction.jsonl") or _skip(folder / "score.py"):
        return False
    score = scorer(folder / "score.py").extraction
    lines = (folder / "extraction.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[Row] = [json.loads(line) for line in lines if line.strip()]
    kinds = ("decision", "thread_open", "thread_resolved", "thread_blocked", "thread_abandoned")
    print(f"{f'{len(rows)} excerpts':20}{'P':>7}{'R':>7}{'F1':>7}{'tp':>5}{'fp':>4}{'fn':>4}")
    scored = score(rows, [_predicted(row) for row in rows])
    threads = _together([scored[kind] for kind in kinds[1:]])
    for kind, one in {
        **{kind: scored[kind] for kind in kinds},
        "threads": threads,
        "all": scored["micro"],
    }.items():
        shares = "".join(f"{one[name]:>7.3f}" for name in ("precision", "recall", "f1"))
        print(f"{kind:20}{shares}{one['tp']:>5}{one['fp']:>4}{one['fn']:>4}")
    taken = [tuple(map(int, share.split("/"))) for share in scored["traps_taken"].values()]
    print(f"labelled non-decisions taken: {sum(t for t, _ in taken)} of {sum(n for _, n in taken)}")
    for row in rows if errors else ():
        _print_errors(row, score)
    return True


_TYPES = {
    "decision": "decision",
    "instruction": "instruction",
    "thread_open": "question_open",
    "thread_resolved": "resolved",
    "thread_blocked": "blocked",
    "thread_abandoned": "abandoned",
}
_MARKED = {
    "dec": "decision",
    "wd": "decision_withdrawn",
    "open": "question_open",
    "done": "resolved",
    "blk": "blocked",
    "drop": "abandoned",
    "std": "instruction",
    "con": "constraint",
}


def _sealed() -> list[Row]:
    """Return the sealed dialogues in the scorer's schema."""
    print(f"{SEALED.name} sha256 {hashlib.sha256(SEALED.read_bytes()).hexdigest()}")
    rows = []
    for dialogue in read_dialogues(SEALED):
        turns = [{"role": "human" if t.human else "assistant", "text": t.text} for t in dialogue.turns]
        spans: list[Row] = []
        offers = {
            span.number: {"turn": n, "text": turn.text[span.first : span.last]}
            for n, turn in enumerate(dialogue.turns)
            for span in turn.spans
            if span.tag == "prop"
        }
        for n, turn in enumerate(dialogue.turns):
            for span in turn.spans:
                if span.tag in _MARKED:
                    one = {"turn": n, "text": turn.text[span.first : span.last], "type": _MARKED[span.tag]}
                    spans.append(one | ({"accepts": offers[span.number]} if span.number in offers else {}))
        none = [{"turn": n, "text": text, "why": why} for n, text, why in dialogue.none]
        rows.append({"id": dialogue.name, "turns": turns, "spans": spans, "hard_negatives": none})
    return rows


def _scored(folder: Path, rows: Sequence[Row]) -> None:
    """Print what the scorer of the dialogues says: whole, without context, and of a keyword search."""
    ways = {"dialogues": _finds, "each turn alone": _finds_alone, "keywords": _keywords}
    with tempfile.TemporaryDirectory() as here:
        data, told = Path(here) / "d.jsonl", Path(here) / "told.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        for name, way in ways.items():
            lines = [json.dumps({"id": row["id"], "finds": way(_turns(row))}) for row in rows]
            told.write_text("\n".join(lines), "utf-8")
            ran = [sys.executable, str(folder / "score.py"), str(told), "--data", str(data)]
            printed = subprocess.run(ran, check=True, capture_output=True, text=True).stdout
            whole = name == "dialogues"
            lines = [line for line in printed.splitlines() if whole or line.startswith(("family", "all"))]
            print(f"\n{name}", *lines, sep="\n")


def _finds(turns: Sequence[Turn]) -> list[Row]:
    return [
        {"turn": f.turn - 1, "text": f.text, "type": _TYPES[f.kind.value], "probability": f.confidence}
        for f in _read(turns)
    ]


def _finds_alone(turns: Sequence[Turn]) -> list[Row]:
    return [find for turn in turns for find in _finds([turn])]


def _keywords(turns: Sequence[Turn]) -> list[Row]:
    """Find what a person would search for."""
    words = {"decision": r"decid|go with|let's|agreed", "question_open": r"open|later|not sure|park"}
    words |= {"instruction": r"always|never|from now on", "constraint": r"remember|must|deadline"}
    return [
        {"turn": turn.number - 1, "text": each.text, "type": kind}
        for turn in turns
        for each in sentences(turn.text)
        for kind, pattern in words.items()
        if re.search(rf"\b(?:{pattern})", each.text, re.IGNORECASE)
    ]


def _read(turns: Sequence[Turn]) -> tuple[Find, ...]:
    return extract(turns, READER[0] if READER else None)


def _together(parts: Sequence[Row]) -> Row:
    tp, fp, fn = (sum(part[key] for part in parts) for key in ("tp", "fp", "fn"))
    precision, recall = tp / max(1, tp + fp), tp / max(1, tp + fn)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "tp": tp, "fp": fp, "fn": fn}


def _turns(row: Row) -> list[Turn]:
    return [
        Turn(
            number=number,
            speaker=Speaker.ASSISTANT if turn["role"] == "assistant" else Speaker.USER,
            time=None,
            text=turn["text"],
        )
        for number, turn in enumerate(row["turns"], 1)
    ]


def _predicted(row: Row) -> Row:
    finds = _read(_turns(row))
    spans = [
        {"turn": find.turn - 1, "start": find.start, "end": find.end, "type": find.kind.value}
        for find in finds
        if find.kind is not Proposal.INSTRUCTION
    ]
    return {"id": row["id"], "spans": spans}


def _print_errors(row: Row, score: Callable[[Sequence[Row], Sequence[Row]], Row]) -> None:
    told = score([row], [_predicted(row)])
    if told["micro"]["fp"] == told["micro"]["fn"] == 0:
        return
    print(f"\n{row['id']}")
    for turn in row["turns"]:
        print(f"  {turn['role']}: {turn['text']}")
    for span in row["spans"]:
        print(f"    labelled {span['type']}: {span['text']}")
    for find in _read(_turns(row)):
        print(f"    found {find.kind.value}: {find.text} [{find.why}]")


def _sessions(folder: Path, sample: int, seed: int) -> bool:
    if _skip(folder / "claude_code"):
        return False
    counts: Counter[str] = Counter()
    per_session: list[tuple[str, int, int]] = []
    drawn: list[tuple[str, Turn, Find]] = []
    files = sorted((folder / "claude_code").glob("*.jsonl.gz"))
    size = spent = 0.0
    for path in files:
        turns = [turn for one in conversations([str(path)]) for turn in _said(one, path)]
        start = time.process_time()
        finds = _read(turns)
        spent += time.process_time() - start
        size += sum(len(turn.text.encode()) for turn in turns)
        counts.update(find.kind.value for find in finds)
        per_session.append((path.name[:8], len(turns), len(finds)))
        by_number = {turn.number: turn for turn in turns}
        drawn.extend((path.name[:8], by_number[find.turn], find) for find in finds)
    _prompts(drawn)
    print(f"\n{len(files)} sessions, {len(drawn)} finds: {dict(counts)}")
    print(f"{size / 1e6:.2f} MB of own words, {size / 1e6 / max(1e-9, spent):.1f} MB/s")
    print("session (turns): finds  " + ", ".join(f"{name} ({turns}): {n}" for name, turns, n in per_session))
    random.Random(seed).shuffle(drawn)
    for number, (name, turn, find) in enumerate(drawn[:sample], 1):
        before = " ".join(turn.text[max(0, find.start - AROUND) : find.start].split())
        after = " ".join(turn.text[find.end : find.end + AROUND].split())
        who = f"{name} turn {turn.number} {turn.speaker.value}"
        print(f"\n{number}. {who} {find.kind.value} {find.confidence} [{find.why}]")
        print(f"   title: {find.title}\n   ... {before} >>>{find.text}<<< {after} ...")
    return True


def _prompts(drawn: Sequence[tuple[str, Turn, Find]]) -> None:
    """Print how many of the statements that a person reads in prompts reach the candidates."""
    rows = list(map(json.loads, PROMPTS.read_text("utf-8").splitlines()))
    found: dict[tuple[str, int], list[Find]] = defaultdict(list)
    for session, turn, find in drawn:
        found[session, turn.number].append(find)
    right = taken = wanted = 0
    for row in rows:
        finds, spans = found[row["session"], row["turn"]], row["spans"]
        wanted += len(spans)
        taken += len(finds)
        right += sum(any(f.start < b and a < f.end for f in finds) for a, b, _ in spans)
    print(f"\n{len(rows)} prompts: {right} of {wanted} statements found, {taken} candidates")


def _said(one: ImportedConversation | Problem, path: Path) -> tuple[Turn, ...]:
    if isinstance(one, Problem):
        print(f"NOT READ: {path.name} line {one.line}: {one.message}", file=sys.stderr)
        return ()
    return one.turns


if __name__ == "__main__":
    raise SystemExit(main())
