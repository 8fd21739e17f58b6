"""Measure the trained conflict judge on balanced pairs, real records and changed wordings, and its costs.

    python benchmarks/judge.py [FOLDER] [--judge FOLDER] [--texts]

FOLDER (default `../shared/data`) holds `conflict_pairs.jsonl`, `nli_pairs.jsonl.gz` and `decisions.jsonl.gz`.
Balanced pairs measure the model: in them every third pair is a contradiction, in a register one of 165, and
the judge's thresholds are set for the latter. `registers.py` measures what a user sees.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from forgekit.conflict.judge import Judgement, Level, Statement
from forgekit.models.encoder import Missing
from forgekit.models.trained_judge import FOLDER, TrainedJudge, find_trained_judge, log_odds

FRESH = Path(__file__).with_name("pairs.jsonl")
TWINS, SEALED = (Path(__file__).with_name(name) for name in ("twins.jsonl", "twins-sealed.zip"))
CACHE = Path(tempfile.gettempdir()) / "forgekit-judge"
CONTRADICTS = (Level.CONFLICT, Level.POSSIBLE)
RECORDS, NEIGHBOURS, SHOWN = 1_000, 5, 20
SYNONYMS = {
    "use": "employ", "every": "each", "must": "has to", "store": "keep", "keep": "retain", "run": "execute",
    "only": "solely", "never": "at no time", "delete": "remove", "choose": "pick", "big": "large",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A labelled pair of decisions."""

    label: str
    a: str
    b: str


def main() -> int:
    """Print the tables; exit 1 when there was nothing to measure."""
    parser = argparse.ArgumentParser(description="quality and cost of the trained judge")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of a trained judge")
    parser.add_argument("--texts", action="store_true", help="print the pairs that the model gets wrong")
    parser.add_argument("--sealed", action="store_true", help="score the sealed pairs alone; log it")
    given = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    judge = find_trained_judge(CACHE, given.judge)
    if isinstance(judge, Missing):
        print(f"SKIPPED: {judge}", file=sys.stderr)
        return 1
    print(f"judge {judge.version}: {judge.calibration}")
    if given.sealed:
        lines = zipfile.Path(SEALED, "b.jsonl").read_text(encoding="utf-8").splitlines()
        twins("sealed pairs in nearly the same words", [Pair(**json.loads(line)) for line in lines], judge)
        return 0
    fresh = [Pair(label=row["label"], a=row["a"], b=row["b"]) for row in _rows(FRESH)]
    balanced("pairs beside this file", fresh, judge, texts=given.texts)
    labelled = [
        Pair(label=row["label"], a=row["a"]["text"], b=row["b"]["text"])
        for row in _rows(given.folder / "conflict_pairs.jsonl")
    ]
    balanced("labelled pairs", labelled, judge, texts=given.texts)
    twins("pairs in nearly the same words", [Pair(**row) for row in _rows(TWINS)], judge)
    rows = list(_rows(given.folder / "nli_pairs.jsonl.gz"))
    for source in sorted({row["source"] for row in rows}):
        some = [Pair(label=r["label"], a=r["a"], b=r["b"]) for r in rows if r["source"] == source]
        balanced(f"pictures and toy facts: {source}", some, judge, texts=False)
    records(given.folder / "decisions.jsonl.gz", judge)
    stability(judge, fresh)
    print("\ncost of one process:", flush=True)
    subprocess.run([sys.executable, "-c", _COLD, str(CACHE), str(given.judge)], check=True)
    return 0 if labelled else 1


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of a file; say so where it is absent."""
    if not file.exists():
        print(f"SKIPPED: no {file}", file=sys.stderr)
        return
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _judged(judge: TrainedJudge, pairs: Sequence[Pair]) -> list[Judgement]:
    sides = [(Statement(text=pair.a), Statement(text=pair.b)) for pair in pairs]
    return [found for found in judge.judge(sides, judge.cosines(sides)) if found is not None]


def balanced(name: str, pairs: Sequence[Pair], judge: TrainedJudge, *, texts: bool) -> None:
    """Print what the model alone and the judge reach on pairs."""
    truth = [pair.label == "contradiction" for pair in pairs]
    if not any(truth):
        return
    odds = [log_odds(judge.logits(pair.a, pair.b)) for pair in pairs]
    judged = _judged(judge, pairs)
    print(f"\n{name}: {len(pairs)} pairs, {sum(truth)} contradictions")
    print(f"{row_of('model alone', truth, [value >= 0 for value in odds])}  AUROC {auroc(truth, odds):.3f}")
    print(row_of("judge, both levels", truth, [found.level in CONTRADICTS for found in judged]))
    print(row_of("judge, conflict", truth, [found.level is Level.CONFLICT for found in judged]))
    print(row_of("always contradiction", truth, [True] * len(pairs)))
    for pair, value, contradiction in zip(pairs, odds, truth, strict=True):
        if texts and (value >= 0) is not contradiction:
            print(f"  {pair.label}, log-odds {value:.1f}\n    {pair.a!r}\n    {pair.b!r}")


def twins(name: str, pairs: Sequence[Pair], judge: TrainedJudge) -> None:
    """Print how many pairs of each label the judge gives each level."""
    found = Counter(
        (pair.label, judged.level) for pair, judged in zip(pairs, _judged(judge, pairs), strict=True)
    )
    print(f"\n{name}: {len(pairs)} pairs")
    for label in dict.fromkeys(pair.label for pair in pairs):
        levels = ", ".join(f"{number} {level.value}" for level in Level if (number := found[label, level]))
        print(f"  {label:14} {levels}")


def row_of(name: str, truth: Sequence[bool], called: Sequence[bool]) -> str:
    """Return a line with precision, recall and F1."""
    hits = sum(t and c for t, c in zip(truth, called, strict=True))
    precision, recall = hits / max(1, sum(called)), hits / sum(truth)
    f1 = 2 * hits / (sum(called) + sum(truth))
    return f"  {name:22} precision {precision:.2f} ({hits}/{sum(called)})  recall {recall:.2f}  F1 {f1:.2f}"


def auroc(truth: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the chance that a contradiction scores above another pair."""
    yes = [s for s, t in zip(scores, truth, strict=True) if t]
    no = [s for s, t in zip(scores, truth, strict=True) if not t]
    return sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no))


def records(file: Path, judge: TrainedJudge) -> None:
    """Print which titles of real decision records are flagged against their nearest ones."""
    rows = sorted(_rows(file), key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())[:RECORDS]
    if not rows:
        return
    texts = sorted({row["title"] for row in rows})
    vectors = np.array([judge.vector(text) for text in texts])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    near = sorted({(min(i, j), max(i, j)) for i, row in enumerate(nearest.tolist()) for j in row})
    pairs = [Pair(label="", a=texts[i], b=texts[j]) for i, j in near]
    judged = _judged(judge, pairs)
    flags = sorted(
        ((found, pair) for pair, found in zip(pairs, judged, strict=True) if found.level in CONTRADICTS),
        key=lambda flag: -flag[0].probability,
    )
    conflicts = sum(found.level is Level.CONFLICT for found, _ in flags)
    print(f"\n{len(texts)} record titles, {len(pairs)} pairs: {conflicts} conflicts, {len(flags)} flags")
    for found, pair in flags[:SHOWN]:
        print(f"  {found.probability:.2f} {pair.a[:100]!r} against {pair.b[:100]!r}: {found.reason}")


def stability(judge: TrainedJudge, pairs: Sequence[Pair]) -> None:
    """Print how often a level changes with what should not matter."""
    changes: list[tuple[str, Callable[[Pair], Pair]]] = [
        ("sides swapped", lambda p: replace(p, a=p.b, b=p.a)),
        ("synonyms in one side", lambda p: replace(p, a=_reworded(p.a))),
        ("clause added", lambda p: replace(p, b=p.b + "; Maria takes the minutes")),
        ("clause before", lambda p: replace(p, a="As discussed on Monday: " + p.a)),
        ("all in lower case", lambda p: replace(p, a=p.a.lower())),
    ]
    before = _judged(judge, pairs)
    print(f"\n{'changed':24}{'pairs':>7}{'same level':>14}{'mean change of probability':>28}")
    for name, change in changes:
        changed = [(pair, change(pair)) for pair in pairs]
        after = _judged(judge, [other for _, other in changed])
        rows = [
            (old, new)
            for (pair, other), old, new in zip(changed, before, after, strict=True)
            if pair != other
        ]
        same = sum(old.level is new.level for old, new in rows) / len(rows)
        moved = statistics.fmean(abs(old.probability - new.probability) for old, new in rows)
        print(f"{name:24}{len(rows):>7}{same:>14.1%}{moved:>28.3f}")


def _reworded(text: str) -> str:
    return re.sub(r"[A-Za-z]+", lambda found: SYNONYMS.get(found[0].lower(), found[0]), text)


_COLD = """
import sys, time
from pathlib import Path
from typing import Any

def peak():  # ru_maxrss is that of the parent where it has more
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

start, before = time.perf_counter(), peak()
from forgekit.models.trained_judge import find_trained_judge
from forgekit.conflict.judge import Statement
judge = find_trained_judge(Path(sys.argv[1]), Path(sys.argv[2]))
a, b = Statement(text="Store sessions in Redis"), Statement(text="Sessions live in the browser alone")
judge.judge([(a, b)], [0.9])
cold = (time.perf_counter() - start) * 1e3
many = [
    (Statement(text=f"Keep queue {n} in Redis"), Statement(text=f"There is no queue {n} in Redis"))
    for n in range(100)
]
start = time.perf_counter()
judge.judge(many, [0.9] * len(many))
each = (time.perf_counter() - start) / len(many) * 1e3
print(f"{cold:.0f} ms from nothing to the first judgement, then {each:.1f} ms a pair that is read;")
print(f"{peak() - before:.0f} MB of memory; torch loaded: {'torch' in sys.modules}")
"""


if __name__ == "__main__":
    sys.exit(main())
