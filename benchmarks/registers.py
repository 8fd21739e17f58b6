"""Measure the conflict judge end to end on whole registers, at the frequency of real contradictions.

    python benchmarks/registers.py [FOLDER] [--sealed] [--predictions FILE]

FOLDER (default `../shared/data/registers`) holds registers `g*.jsonl`, labelled pairs `truth.jsonl` and the
scorer `score.py`. All decisions of a register are active; the pairs that forgekit would judge are judged. The
shipped join and its thresholds were fitted on these. `--sealed` scores `registers-sealed.zip`
beside this file instead: only figures are printed, and every scoring is logged in `SCORES.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from forgekit.conflict.judge import Level
from forgekit.conflict.pairs import NEAREST, Pair, sharing_rare_words, statement
from forgekit.ids import EntityId, decision_id, project_id
from forgekit.index.judged_pairs import JudgedPairs
from forgekit.model.entities import Decision
from forgekit.model.settings import Settings
from forgekit.models.encoder import Encoder, Missing, find_encoder
from forgekit.models.trained_judge import FOLDER, find_trained_judge
from forgekit.times import parse_instant

CACHE = Path(tempfile.gettempdir()) / "forgekit-registers"
SEALED = Path(__file__).resolve().parent / "registers-sealed.zip"


def main() -> int:
    """Print the scorer's table; exit 1 when there was nothing to measure."""
    parser = argparse.ArgumentParser(description="contradictions found in whole registers")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data/registers"))
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of a trained judge")
    parser.add_argument("--predictions", type=Path, default=CACHE / "predictions.jsonl")
    parser.add_argument("--sealed", action="store_true", help="score the sealed registers instead")
    given = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    data = _sealed() if given.sealed else given.folder
    registers = dict(read_registers(data))
    encoder, judge = find_encoder(Settings(), CACHE), find_trained_judge(CACHE, given.judge)
    if not registers or isinstance(encoder, Missing) or isinstance(judge, Missing):
        missing = f"no registers in {given.folder}" if not registers else f"{encoder}; {judge}"
        print(f"SKIPPED: {missing}", file=sys.stderr)
        return 1
    print(f"judge {judge.version}: {judge.calibration}")
    with given.predictions.open("w", encoding="utf-8") as out:
        for name, decisions in registers.items():
            pairs = judged_pairs(decisions, encoder)
            sides = [(statement(decisions[a]), statement(decisions[b])) for a, b in pairs]
            start = time.perf_counter()
            judgements = judge.judge(sides, judge.cosines(sides))
            seconds = time.perf_counter() - start
            print(f"{name}: {len(decisions)} decisions, {len(pairs)} pairs in {seconds:.1f} s")
            for (a, b), judgement in zip(pairs, judgements, strict=True):
                if judgement is not None and judgement.level in (Level.CONFLICT, Level.POSSIBLE):
                    row = {"a": decisions[a].local_id, "b": decisions[b].local_id, "register": name}
                    row |= {"level": judgement.level.value}
                    out.write(json.dumps(row | {"probability": judgement.probability}) + "\n")
    if given.sealed:
        _print_counts(data, given.predictions, sum(map(len, registers.values())))
        return 0
    subprocess.run([sys.executable, str(given.folder / "score.py"), str(given.predictions)], check=True)
    return 0


def _print_counts(data: Path, predictions: Path, decisions: int) -> None:
    """Print what is flagged, by label, as the scorer counts: `supersedes` is neither right nor wrong."""
    lines = map(json.loads, (data / "truth.jsonl").read_text(encoding="utf-8").splitlines())
    truth = {frozenset((row["a"], row["b"])): row["label"] for row in lines}
    flags = list(map(json.loads, predictions.read_text(encoding="utf-8").splitlines()))
    print(f"{sum(label == 'contradiction' for label in truth.values())} contradictions")
    for levels in (("conflict",), ("conflict", "possible")):
        labels = [truth.get(frozenset((f["a"], f["b"])), "none") for f in flags if f["level"] in levels]
        rate = 100 * len(labels) / decisions
        print(f"{' and '.join(levels)}: {dict(Counter(labels))}, {rate:.1f} flags per 100 decisions")


def _sealed() -> Path:
    """Return a folder with the sealed registers."""
    print(f"{SEALED.name} sha256 {hashlib.sha256(SEALED.read_bytes()).hexdigest()}")
    folder = CACHE / "sealed"
    with zipfile.ZipFile(SEALED) as registers:
        registers.extractall(folder)
    return folder


def read_registers(folder: Path) -> Iterator[tuple[str, dict[EntityId, Decision]]]:
    """Yield the registers of a folder by name; a decision's local id is its id there."""
    for path in sorted(folder.glob("[gh]*.jsonl")):
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        decisions = [_decision(row) for row in rows]
        yield path.stem, {decision.id: decision for decision in decisions}


def _decision(row: Mapping[str, object]) -> Decision:
    project, text, moment = project_id(str(row["project"])), str(row["text"]), parse_instant(str(row["date"]))
    alternatives = row["alternatives"]
    return Decision(
        decision_id=decision_id(project, text, EntityId(""), moment),
        decision=text,
        project_name=str(row["project"]),
        project_uuid=project,
        local_id=str(row["id"]),
        alternatives_rejected=tuple(map(str, alternatives if isinstance(alternatives, list) else ())),
        created_at=moment,
        last_validated=moment,
    )


def judged_pairs(decisions: Mapping[EntityId, Decision], encoder: Encoder) -> list[Pair]:
    """Return the pairs of active decisions that are judged."""
    keys = sorted(decisions)
    vectors = encoder.encode_documents([decisions[key].decision for key in keys])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    stated = {key: statement(one) for key, one in decisions.items()}
    pairs = JudgedPairs(dict.fromkeys(keys, ""), "")
    near = np.take_along_axis(cosines, nearest, axis=1)
    pairs.pair(keys, nearest.astype(np.int32), near, sharing_rare_words(stated))
    return sorted(pairs.todo(None))


if __name__ == "__main__":
    sys.exit(main())
