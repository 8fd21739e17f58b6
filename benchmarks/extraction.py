"""Measure the extraction of decisions and threads: on labelled excerpts, and on real sessions of an agent.

Run from the repository: `python benchmarks/extraction.py [FOLDER] [--sample N --seed S] [--errors]`.
FOLDER (default `../shared/data`) holds `extraction.jsonl`, `score.py` and `claude_code/`.

The excerpts were read while the cues were written, so they measure development only; the dialogues beside
them (`dialogues/score.py`) were written by somebody else.
`--errors` prints each excerpt that is not read as labelled.
Of the real sessions N finds are drawn and printed with their source, to be judged by a reader.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from messages import scorer

from forgekit.extraction.extract import extract
from forgekit.extraction.statements import Find
from forgekit.model.problem import Problem
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.transcripts.formats import conversations

Row = dict[str, Any]
AROUND = 160


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sample", type=int, default=0, help="finds of real sessions to print")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    whole = _excerpts(given.folder, errors=given.errors)
    _dialogues(given.folder / "dialogues")
    sessions = _sessions(given.folder, given.sample, given.seed)
    _speed()
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
    "thread_open": "question_open",
    "thread_resolved": "resolved",
    "thread_blocked": "blocked",
    "thread_abandoned": "abandoned",
}


def _dialogues(folder: Path) -> None:
    """Print what the scorer of the dialogues says."""
    if _skip(folder):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for row in map(json.loads, (folder / "d.jsonl").read_text(encoding="utf-8").splitlines()):
            finds = [
                {
                    "turn": f.turn - 1,
                    "text": f.text,
                    "type": _TYPES[f.kind.value],
                    "probability": f.confidence,
                }
                for f in extract(_turns(row))
            ]
            file.write(json.dumps({"id": row["id"], "finds": finds}) + "\n")
        file.flush()
        ran = [sys.executable, str(folder / "score.py"), file.name, "--data", str(folder / "d.jsonl")]
        print(f"\ndialogues\n{subprocess.run(ran, check=True, capture_output=True, text=True).stdout}")


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
    finds = extract(_turns(row))
    spans = [
        {"turn": find.turn - 1, "start": find.start, "end": find.end, "type": find.kind.value}
        for find in finds
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
    for find in extract(_turns(row)):
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
        finds = extract(turns)
        spent += time.process_time() - start
        size += sum(len(turn.text.encode()) for turn in turns)
        counts.update(find.kind.value for find in finds)
        per_session.append((path.name[:8], len(turns), len(finds)))
        by_number = {turn.number: turn for turn in turns}
        drawn.extend((path.name[:8], by_number[find.turn], find) for find in finds)
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


def _said(one: ImportedConversation | Problem, path: Path) -> tuple[Turn, ...]:
    if isinstance(one, Problem):
        print(f"NOT READ: {path.name} line {one.line}: {one.message}", file=sys.stderr)
        return ()
    return one.turns


def _speed() -> None:
    said = "We looked at both. We decided to use the small one because it is cheap; who pays is still open. "
    print("\nspeed on one turn of plain talk:")
    for times in (500, 1_000, 2_000, 4_000):
        turn = Turn(number=1, speaker=Speaker.USER, time=None, text=said * times)
        start = time.process_time()
        extract([turn])
        spent = time.process_time() - start
        size = len(turn.text) / 1e6
        print(f"  {size:.2f} MB in {spent:.2f} s of processor, {size / spent:.1f} MB/s")


if __name__ == "__main__":
    raise SystemExit(main())
