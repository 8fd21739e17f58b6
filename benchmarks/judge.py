"""Measure the trained conflict judge: labelled pairs, outside sets, real records, changes of wording, costs.

Run from the repository: `python benchmarks/judge.py [FOLDER] [--judge FOLDER ...] [--texts]`. FOLDER (default
`../shared/data`) holds `conflict_pairs.jsonl`, `nli_pairs.jsonl.gz` and `decisions.jsonl.gz`. Each `--judge`
names a folder as training writes it; the first is measured in full, all of them give the spread of seeds.
Without any, the judge that is shipped is measured.

The judge was trained on none of these and set by none of them. Its rules were set by hand on half of the
labelled pairs (`conflicts.py` says which), so that half flatters what is joined with them; the other half and
the model alone are clean.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import operator
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from conflicts import (
    FRESH,
    Pair,
    auroc,
    confusion,
    cosines,
    digit,
    flags,
    fresh_pair,
    read_pair,
    row_of,
    show,
    wrong,
)

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.conflict.rules.joined import Join, joined_score, log_odds_of, rule_features
from forgekit.conflict.rules.rules import RuleJudge
from forgekit.model.settings import Settings
from forgekit.models.cross_encoder import CrossEncoder
from forgekit.models.encoder import Encoder, Missing, find_encoder
from forgekit.models.judge_files import FOLDER, JudgeFiles, find_judge
from forgekit.models.trained_judge import TrainedJudge

RECORDS = 2_000
SHOWN = 40
CACHE = Path(tempfile.gettempdir()) / "forgekit-judge"


def main() -> int:
    """Print the tables; exit 1 when there was nothing to measure."""
    parser = argparse.ArgumentParser(description="quality and cost of the trained judge")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judge", type=Path, action="append", help="folder of a trained judge")
    parser.add_argument("--texts", action="store_true", help="print the texts of wrong pairs")
    given = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    folders = given.judge or [FOLDER]
    encoder = find_encoder(Settings(), CACHE)
    if isinstance(encoder, Missing) or isinstance(find_judge(CACHE, folders[0]), Missing):
        print(f"SKIPPED: {encoder if isinstance(encoder, Missing) else find_judge(CACHE, folders[0])}")
        return 1
    fresh = [
        fresh_pair(number, json.loads(line))
        for number, line in enumerate(FRESH.read_text(encoding="utf-8").splitlines(), start=1)
    ]
    stability(TrainedJudge(CACHE, folders[0]), fresh, encoder)
    labelled = given.folder / "conflict_pairs.jsonl"
    if not labelled.exists():
        print(f"SKIPPED: no labelled pairs in {given.folder}", file=sys.stderr)
        return 1
    pairs = [read_pair(json.loads(line)) for line in labelled.read_text(encoding="utf-8").splitlines()]
    unseen = [pair for pair in pairs if digit(pair.name) % 2]
    for name, some in (("all labelled pairs", pairs), ("the half that no rule was set on", unseen)):
        print(f"\n{name}: {len(some)}, {sum(pair.label == 'contradiction' for pair in some)} contradictions")
        sides, near = [(pair.a, pair.b) for pair in some], cosines(encoder, some)
        asked = {folder: TrainedJudge(CACHE, folder).judge(sides, near) for folder in folders}
        for folder in folders:
            parts(folder, some)
            show("  as forgekit asks it", some, asked[folder])
        spread(some, [*asked.values()])
        judged = asked[folders[0]]
        confusion(some, judged)
        if some is pairs:
            wrong(some, judged, texts=given.texts)
    outside(given.folder / "nli_pairs.jsonl.gz", TrainedJudge(CACHE, folders[0]))
    flagged(given.folder / "decisions.jsonl.gz", TrainedJudge(CACHE, folders[0]))
    costs(folders[0])
    return 0


def parts(folder: Path, pairs: Sequence[Pair]) -> None:
    """Print the rules, the model and what joins them, each alone, on every pair; and one order alone."""
    found = find_judge(CACHE, folder)
    if not isinstance(found, JudgeFiles):
        print(f"SKIPPED: {found}", file=sys.stderr)
        return
    join = Join(**found.card.join)
    sides = [(pair.a, pair.b) for pair in pairs]
    truth = [pair.label == "contradiction" for pair in pairs]
    rules = rule_features(sides)
    forth, back = model_odds(found, pairs)
    mean = [(a + b) / 2 for a, b in zip(forth, back, strict=True)]
    threshold = found.card.threshold
    print(f"  {folder.name}: threshold {threshold}, expected precision {found.card.expected_precision}")
    for name, scores, least in (
        ("rules alone", [rule.log_odds for rule in rules], 0.0),
        ("model alone", mean, 0.0),
        ("joined", [joined_score(join, m, r) for m, r in zip(mean, rules, strict=True)], threshold),
        (
            "joined, one order",
            [joined_score(join, m, r) for m, r in zip(forth, rules, strict=True)],
            threshold,
        ),
    ):
        print(f"  {row_of(name, truth, [s >= least for s in scores])}  AUROC {auroc(truth, scores):.3f}")


def spread(pairs: Sequence[Pair], judged: Sequence[Sequence[Judgement]]) -> None:
    """Print the mean and the range of what all judges reach, as forgekit asks them."""
    truth = [pair.label == "contradiction" for pair in pairs]
    rows: list[dict[str, float]] = []
    for each in judged:
        said = [judgement.verdict is Verdict.CONTRADICTION for judgement in each]
        scores = [judgement.score for judgement in each]
        hits = sum(map(operator.and_, truth, said))
        rows.append(
            {
                "precision": hits / max(1, sum(said)),
                "recall": hits / sum(truth),
                "AUROC": auroc(truth, scores),
                "best precision at recall >= 0.70": best_precision(truth, scores, recall=0.7),
            }
        )
    print(f"  as forgekit asks it, mean of all {len(rows)} (least to most)")
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(f"    {name:34}{statistics.fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})")


def best_precision(truth: Sequence[bool], scores: Sequence[float], *, recall: float) -> float:
    """Return the highest precision of any threshold that keeps a recall."""
    told = [[t for t, s in zip(truth, scores, strict=True) if s >= least] for least in scores]
    return max(sum(some) / len(some) for some in told if sum(some) >= recall * sum(truth))


def model_odds(found: JudgeFiles, pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    """Return the log-odds of a contradiction by the model alone, read as given and the other way round."""
    labels = [Verdict(label) for label in found.card.labels]
    encoder = CrossEncoder(found.model, found.delta, len(labels), found.card.tokens_a_side)
    texts = [(pair.a.text, pair.b.text) for pair in pairs]
    forth, back = (
        [log_odds_of(dict(zip(labels, read.logits, strict=True))) for read in encoder.read(some)]
        for some in (texts, [(b, a) for a, b in texts])
    )
    return forth, back


def outside(file: Path, judge: TrainedJudge) -> None:
    """Print the judge on sentence pairs about pictures and toy facts: no decisions."""
    if not file.exists():
        print(f"SKIPPED: no {file}", file=sys.stderr)
        return
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    print("\noutside sets (pictures, toy facts; not decisions)")
    for source in sorted({row["source"] for row in rows}):
        some = [row for row in rows if row["source"] == source]
        pairs = [
            Pair(name="", label=row["label"], a=Statement(text=row["a"]), b=Statement(text=row["b"]))
            for row in some
        ]
        sides = [(pair.a, pair.b) for pair in pairs]
        for name, by in (("rules", RuleJudge()), ("trained", judge)):
            show(f"{source[:14]} {name}", pairs, by.judge(sides, [None] * len(sides)))


def flagged(file: Path, judge: TrainedJudge) -> None:
    """Print how many of the real records are flagged against their nearest neighbours, and the flags."""
    if not file.exists():
        print(f"SKIPPED: no {file}", file=sys.stderr)
        return
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())[:RECORDS]
    for first_sentences in (False, True):
        flags(rows, judge, first_sentences=first_sentences, shown=SHOWN)


SYNONYMS = {
    "use": "employ", "every": "each", "must": "has to", "store": "keep", "keep": "retain", "run": "execute",
    "only": "solely", "never": "at no time", "delete": "remove", "choose": "pick", "big": "large",
}  # fmt: skip


def _reworded(text: str) -> str:
    return re.sub(r"[A-Za-z]+", lambda found: SYNONYMS.get(found[0].lower(), found[0]), text)


def stability(judge: TrainedJudge, pairs: Sequence[Pair], encoder: Encoder) -> None:
    """Print how often a verdict changes with what should not matter."""
    changes: list[tuple[str, Callable[[Pair], Pair]]] = [
        ("sides swapped", lambda p: replace(p, a=p.b, b=p.a)),
        ("synonyms in one side", lambda p: replace(p, a=replace(p.a, text=_reworded(p.a.text)))),
        ("clause added", lambda p: replace(p, b=replace(p.b, text=p.b.text + "; Maria takes the minutes"))),
        ("clause before", lambda p: replace(p, a=replace(p.a, text="As discussed on Monday: " + p.a.text))),
        ("all in lower case", lambda p: replace(p, a=replace(p.a, text=p.a.text.lower()))),
        ("another project, tier", lambda p: replace(p, a=replace(p.a, project="Elsewhere", tier=0.1))),
    ]

    def said(some: Sequence[Pair]) -> list[Judgement]:
        return judge.judge([(pair.a, pair.b) for pair in some], cosines(encoder, some))

    before = said(pairs)
    print(f"\n{'changed':24}{'pairs':>7}{'same verdict':>14}{'same yes/no':>13}{'mean change of score':>22}")
    for name, change in changes:
        changed = [change(pair) for pair in pairs]
        rows = [
            (old, new)
            for pair, other, old, new in zip(pairs, changed, before, said(changed), strict=True)
            if pair != other
        ]
        yes = [(o.verdict is Verdict.CONTRADICTION) is (n.verdict is Verdict.CONTRADICTION) for o, n in rows]
        same = [old.verdict is new.verdict for old, new in rows]
        moved = statistics.fmean(abs(old.score - new.score) for old, new in rows)
        alike, kept = sum(same) / len(rows), sum(yes) / len(rows)
        print(f"{name:24}{len(rows):>7}{alike:>14.1%}{kept:>13.1%}{moved:>22.3f}")


_COLD = """
import sys, time
from pathlib import Path

def peak():  # ru_maxrss is that of the parent where it has more
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

start, before = time.perf_counter(), peak()
from forgekit.models.trained_judge import TrainedJudge
from forgekit.conflict.rules.port import Statement
judge = TrainedJudge(Path(sys.argv[1]), Path(sys.argv[2]))
a, b = Statement(text="Store sessions in Redis"), Statement(text="Sessions live in the browser alone")
judge.judge([(a, b)], [None])
cold = (time.perf_counter() - start) * 1e3
many = [
    (Statement(text=f"Keep queue {n} in Redis"), Statement(text=f"There is no queue {n} in Redis"))
    for n in range(300)
]
start = time.perf_counter()
judge.judge(many, [None] * len(many))
each = (time.perf_counter() - start) / len(many) * 1e3
print(f"{cold:.0f} ms from nothing to the first verdict, then {each:.1f} ms a pair that is read both ways;")
print(f"{peak() - before:.0f} MB of memory; torch loaded: {'torch' in sys.modules}")
"""


def costs(folder: Path) -> None:
    """Print the costs of one process."""
    print("\ncost of one process:", flush=True)
    subprocess.run([sys.executable, "-c", _COLD, str(CACHE), str(folder)], check=True)


if __name__ == "__main__":
    sys.exit(main())
