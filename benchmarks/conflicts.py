"""Measure the conflict judge by rules: on labelled pairs, and how often it speaks up on real records.

Run from the repository: `python benchmarks/conflicts.py [FOLDER] [--texts]`. FOLDER (default
`../shared/data`) holds `conflict_pairs.jsonl`, `decisions.jsonl.gz`, `nli_pairs.jsonl.gz` and `claude_code/`.
Where a model is found the judge is measured with the cosine of each pair too, and the bare rule (cosine above
0.85) is a further control. With `--texts` each wrong pair is printed with its texts.

What was looked at while weights and tables were set, and what was not:

    tuned          half of the labelled pairs: the SHA-256 of the id starts with an even digit
    report         the other half: counted a few times, its texts read once at the end
    fresh develop  half of `pairs.jsonl`, written before a change of rules
    fresh report   the other half: the same topics in other words, by the same author
    records        looked at where the SHA-256 of the id starts with 0 to 7; the others are reported
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from forgekit.archives.formats.summary import is_summary, read_summary
from forgekit.conflict.rules.port import Judge, Judgement, Statement, Verdict
from forgekit.conflict.rules.rules import RuleJudge
from forgekit.model.settings import Settings
from forgekit.models.encoder import Encoder, Missing, find_encoder
from forgekit.text.words import words
from forgekit.transcripts.claude_code import CompactSummary, compactions

FRESH = Path(__file__).with_name("pairs.jsonl")
RECORDS = 1_000
NEIGHBOURS = 5
SHOWN = 20
NEGATIONS = frozenset(
    ("not", "never", "no", "none", "without", "cannot", "don't", "doesn't", "reject", "rejected", "drop")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A labelled pair."""

    name: str
    label: str
    a: Statement
    b: Statement


def main() -> int:
    """Print the tables; exit 1 when there was nothing to measure."""
    parser = argparse.ArgumentParser(description="quality of the conflict judge")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--texts", action="store_true", help="print the texts of wrong pairs")
    given = parser.parse_args()
    pairs_file, records_file = given.folder / "conflict_pairs.jsonl", given.folder / "decisions.jsonl.gz"
    found = find_encoder(Settings(), Path.home() / ".cache" / "forgekit")
    if isinstance(found, Missing):
        print(f"SKIPPED: no cosines: {found}", file=sys.stderr)
    encoder = None if isinstance(found, Missing) else found
    fresh = [json.loads(line) for line in FRESH.read_text(encoding="utf-8").splitlines()]
    for half in ("develop", "report"):
        rows = [fresh_pair(number, row) for number, row in enumerate(fresh, start=1) if row["half"] == half]
        quality(f"fresh {half} half", rows, encoder, texts=given.texts)
    if not pairs_file.exists() or not records_file.exists():
        print(f"SKIPPED: no labelled pairs and records in {given.folder}", file=sys.stderr)
        return 1
    pairs = [read_pair(row) for row in map(json.loads, pairs_file.read_text(encoding="utf-8").splitlines())]
    for name, odd in (("tuned", 0), ("report", 1)):
        half_of = [pair for pair in pairs if digit(pair.name) % 2 == odd]
        quality(f"{name} half", half_of, encoder, texts=given.texts)
    inference(given.folder / "nli_pairs.jsonl.gz")
    with gzip.open(records_file, "rt", encoding="utf-8") as lines:
        records = [row for row in map(json.loads, lines) if digit(row["id"]) >= 8]
    flags(records[:RECORDS], RuleJudge(), first_sentences=False)
    flags(records[:RECORDS], RuleJudge(), first_sentences=True)
    summaries(given.folder / "claude_code")
    return 0


def digit(name: str) -> int:
    """Return the first hex digit of the SHA-256 of a name."""
    return int(hashlib.sha256(name.encode()).hexdigest()[0], 16)


def read_pair(row: dict[str, Any]) -> Pair:
    """Read a row of the labelled pairs."""
    a, b = (
        Statement(text=side["text"], tier=side["tier"], project=side["project"])
        for side in (row["a"], row["b"])
    )
    return Pair(name=row["id"], label=row["label"], a=a, b=b)


def fresh_pair(number: int, row: dict[str, str]) -> Pair:
    """Read a row of the pairs beside this file."""
    name = f"{row['domain']}-{number}"
    return Pair(name=name, label=row["label"], a=Statement(text=row["a"]), b=Statement(text=row["b"]))


def cosines(encoder: Encoder | None, pairs: Sequence[Pair]) -> list[float | None]:
    """Return the cosine of each pair; None without an encoder."""
    if encoder is None:
        return [None] * len(pairs)
    left = encoder.encode_documents([pair.a.text for pair in pairs])
    right = encoder.encode_documents([pair.b.text for pair in pairs])
    return [float(value) for value in (left * right).sum(axis=1)]


def quality(name: str, pairs: list[Pair], encoder: Encoder | None, *, texts: bool) -> None:
    """Print how the judge and its controls do on a set of pairs."""
    near = cosines(encoder, pairs)
    sides = [(pair.a, pair.b) for pair in pairs]
    judged = RuleJudge().judge(sides, [None] * len(pairs))
    truth = [pair.label == "contradiction" for pair in pairs]
    print(f"\n{name}: {len(pairs)} pairs, {sum(truth)} contradictions")
    show("judge by rules", pairs, judged)
    if encoder is not None:
        show("the same with cosines", pairs, RuleJudge().judge(sides, near))
    controls: list[tuple[str, Callable[[Pair], bool]]] = [
        ("always contradiction", lambda _: True),
        ("negation mismatch", lambda pair: denies(pair.a.text) != denies(pair.b.text)),
        ("token overlap > 0.3", lambda pair: overlap(pair.a.text, pair.b.text) > 0.3),
    ]
    for control, answer in controls:
        print(row_of(control, truth, [answer(pair) for pair in pairs]))
    if encoder is not None:
        print(row_of("cosine > 0.85", truth, [(value or 0.0) > 0.85 for value in near]))
    confusion(pairs, judged)
    wrong(pairs, judged, texts=texts)


def wrong(pairs: Sequence[Pair], judged: Sequence[Judgement], *, texts: bool) -> None:
    """Print the pairs that a judge gets wrong, with its reasons."""
    for pair, judgement in zip(pairs, judged, strict=True):
        if (pair.label == "contradiction") is not (judgement.verdict is Verdict.CONTRADICTION):
            why = "; ".join(judgement.reasons) or "nothing that excludes anything was found"
            told = f"\n    {pair.a.text!r}\n    {pair.b.text!r}" if texts else ""
            said = f"{judgement.verdict.value} ({judgement.score:.2f})"
            print(f"  {pair.name} {pair.label}, said {said}: {why}{told}")


def show(name: str, pairs: Sequence[Pair], judged: Sequence[Judgement]) -> None:
    """Print a line on the judge."""
    truth = [pair.label == "contradiction" for pair in pairs]
    said = [judgement.verdict is Verdict.CONTRADICTION for judgement in judged]
    right = sum(pair.label == j.verdict.value for pair, j in zip(pairs, judged, strict=True))
    scores = [judgement.score for judgement in judged]
    print(f"{row_of(name, truth, said)}  AUROC {auroc(truth, scores):.2f}  five-way {right / len(pairs):.2f}")


def inference(file: Path) -> None:
    """Print the judge on sentence pairs about pictures and toy facts: an outside check, no decisions."""
    if not file.exists():
        print(f"SKIPPED: no {file}", file=sys.stderr)
        return
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    print(f"\noutside check: {len(rows)} sentence pairs that are no decisions")
    for source in ("all", *sorted({row["source"].split("/")[0] for row in rows})):
        chosen = [row for row in rows if source in {"all", row["source"].split("/")[0]}]
        sides = [(Statement(text=row["a"]), Statement(text=row["b"])) for row in chosen]
        said = [
            judgement.verdict is Verdict.CONTRADICTION
            for judgement in RuleJudge().judge(sides, [None] * len(sides))
        ]
        truth = [row["label"] == "contradiction" for row in chosen]
        print(row_of(source, truth, said))
        print(row_of("  negation mismatch", truth, [denies(r["a"]) != denies(r["b"]) for r in chosen]))


def summaries(folder: Path) -> None:
    """Print what is flagged among the decisions that real compaction summaries tell, all pairs."""
    files = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not files:
        print(f"SKIPPED: no transcripts in {folder}", file=sys.stderr)
        return
    found = [
        found.text for file in files for found in compactions(str(file)) if isinstance(found, CompactSummary)
    ]
    told = [
        Statement(text=one.text, rationale=one.rationale, alternatives=one.alternatives)
        for text in found
        if is_summary(text)
        for one in read_summary(text).decisions
    ]
    pairs = list(combinations(told, 2))
    judged = RuleJudge().judge(pairs, [None] * len(pairs))
    flagged = [(pair, j) for pair, j in zip(pairs, judged, strict=True) if j.verdict is Verdict.CONTRADICTION]
    print(f"\n{len(told)} decisions of real summaries: {len(flagged)} of {len(pairs)} pairs flagged")
    for (a, b), judgement in flagged:
        print(f"  {judgement.score:.2f} {a.text[:150]!r} against {b.text[:150]!r}: {judgement.reasons[0]}")


def row_of(name: str, truth: Sequence[bool], said: Sequence[bool]) -> str:
    """Return a line with precision, recall and F1."""
    hits = sum(t and s for t, s in zip(truth, said, strict=True))
    precision = hits / sum(said) if any(said) else 0.0
    recall = hits / sum(truth)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return f"{name:22} precision {precision:.2f} ({hits}/{sum(said)})  recall {recall:.2f}  F1 {f1:.2f}"


def auroc(truth: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the chance that a contradiction scores above another pair."""
    yes = [s for s, t in zip(scores, truth, strict=True) if t]
    no = [s for s, t in zip(scores, truth, strict=True) if not t]
    return sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no))


def denies(text: str) -> bool:
    """Whether a text holds a word of denial."""
    return not NEGATIONS.isdisjoint(text.casefold().split())


def overlap(a: str, b: str) -> float:
    """Return the Jaccard overlap of two texts' words."""
    left, right = set(words(a)), set(words(b))
    return len(left & right) / len(left | right) if left | right else 0.0


def confusion(pairs: Sequence[Pair], judged: Sequence[Judgement]) -> None:
    """Print the 5 x 5 table: a row per label, a column per verdict."""
    names = [verdict.value for verdict in Verdict]
    counts = Counter((pair.label, j.verdict.value) for pair, j in zip(pairs, judged, strict=True))
    print(" " * 16 + "".join(f"{name[:12]:>14}" for name in names))
    for label in names:
        print(f"  {label:14}" + "".join(f"{counts[label, name]:>14}" for name in names))


def flags(rows: list[dict[str, Any]], judge: Judge, *, first_sentences: bool, shown: int = SHOWN) -> None:
    """Print how many of the records are flagged against their nearest neighbours, and some of the flags."""
    texts = [statement(row, first_sentences=first_sentences) for row in rows]
    pairs = neighbours(rows, texts)
    start = time.perf_counter()
    judged = judge.judge([(texts[i], texts[j]) for i, j in pairs], [None] * len(pairs))
    each = (time.perf_counter() - start) / len(pairs) * 1e6
    found = [
        (j.score, pair, j)
        for pair, j in zip(pairs, judged, strict=True)
        if j.verdict is Verdict.CONTRADICTION
    ]
    touched = {i for _, pair, _ in found for i in pair}
    what = "title and first sentences" if first_sentences else "title alone"
    print(
        f"\n{len(rows)} real records of {len({row['corpus'] for row in rows})} sources, {what}:"
        f" {len(found)} of {len(pairs)} neighbour pairs flagged,"
        f" {len(touched)} records in a flag ({len(touched) / len(rows):.1%}); {each:.0f} us a pair"
    )
    for score, (i, j), judgement in sorted(found, key=lambda f: (-f[0], f[1]))[:shown]:
        print(
            f"  {score:.2f} {texts[i].text[:150]!r} against {texts[j].text[:150]!r}: {judgement.reasons[0]}"
        )


def statement(row: dict[str, Any], *, first_sentences: bool) -> Statement:
    """Return a record as a statement: its title, with the start of its text where asked."""
    text = row["title"]
    if first_sentences:
        text = f"{text}. {' '.join(row['text'].split())[:300]}"
    return Statement(text=text, rationale=row["text"])


def neighbours(rows: list[dict[str, Any]], texts: list[Statement]) -> list[tuple[int, int]]:
    """Return the pairs of each record with its nearest by shared rare words, inside its corpus and across."""
    bags = [set(words(text.text)) for text in texts]
    holding: dict[str, list[int]] = defaultdict(list)
    for i, bag in enumerate(bags):
        for word in bag:
            holding[word].append(i)
    found: set[tuple[int, int]] = set()
    for i, bag in enumerate(bags):
        scores: defaultdict[int, float] = defaultdict(float)
        for word in sorted(bag):
            rarity = math.log(1 + len(rows) / len(holding[word]))
            for j in holding[word]:
                scores[j] += rarity / (10 + len(bags[j]))
        del scores[i]
        ranked = sorted(scores, key=lambda j: (-scores[j], j))
        inside = [j for j in ranked if rows[j]["corpus"] == rows[i]["corpus"]][:NEIGHBOURS]
        across = [j for j in ranked if rows[j]["corpus"] != rows[i]["corpus"]][:NEIGHBOURS]
        found.update((min(i, j), max(i, j)) for j in (*inside, *across))
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main())
