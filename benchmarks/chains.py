"""Measure what a register holds after an archive and two that follow it, in whole processes.

    python benchmarks/chains.py [--set dev|sealed] [--misses]

A chain is an archive, its child and its grandchild, composed by others from a brief, and the state of each
decision and thread after each of them. `chains-dev.zip` and `chains-sealed.zip` lie beside this file. Of the
sealed set only figures are printed; its items are not read by those who change the reader.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FORGEKIT = [sys.executable, "-m", "forgekit"]
STEPS = "ABC"
OPEN = {"blocked": "open", "postponed": "open"}
"""States of a chain to those that forgekit has."""
Row = Mapping[str, Any]


class Score:
    """How many of the expected values were found, by name of the field."""

    def __init__(self, *, shows_misses: bool) -> None:
        self._all, self._right, self._shows = Counter[str](), Counter[str](), shows_misses

    def add(self, step: str, name: str, what: str, wanted: object, got: object, *, is_right: bool) -> None:
        """Count one value."""
        self._all[name] += 1
        self._right[name] += is_right
        if self._shows and not is_right:
            print(f"  {step} {name} {what} wanted={wanted!r} got={got!r}")

    def show(self) -> None:
        """Print the table."""
        for name, count in sorted(self._all.items()):
            print(f"{name:22} {self._right[name] / count:.3f} of {count}")
        print(f"misses {self._all.total() - self._right.total()}")


def main() -> None:
    """Print the table of a set."""
    parser = argparse.ArgumentParser(description="what follow-up archives leave in a register")
    parser.add_argument("--set", choices=("dev", "sealed"), default="dev", dest="chosen")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    path = HERE / f"chains-{options.chosen}.zip"
    print(f"{path.name} sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
    score = Score(shows_misses=options.misses and options.chosen == "dev")
    with zipfile.ZipFile(path) as chains:
        for name in sorted({entry.partition("/")[0] for entry in chains.namelist()}):
            with tempfile.TemporaryDirectory() as folder:
                _measure(chains, name, folder, score)
    score.show()


def _measure(chains: zipfile.ZipFile, name: str, folder: str, score: Score) -> None:
    given = json.loads(chains.read(f"{name}/truth.json"))
    truth, project = given["after"], given["project"]
    _run(folder, "init", ".")
    for step in STEPS:
        (Path(folder) / "archive.md").write_bytes(chains.read(f"{name}/{step}.md"))
        if not _run(folder, "sync-compression", "archive.md"):  # it names no project; a person then does
            _run(folder, "sync-compression", "--project", project, "archive.md")
        decisions = json.loads(_run(folder, "decision", "list", "--json") or "[]")
        threads = json.loads(_run(folder, "thread", "list", "--json") or "[]")
        for wanted in truth[step]["decisions"]:
            _decision(score, name + step, wanted, decisions)
        for wanted in truth[step]["threads"]:
            _thread(score, name + step, wanted, threads)
        edges = len(json.loads(_run(folder, "lineage", "list", "--json") or "[]"))
        if step != STEPS[0]:
            wanted = STEPS.index(step)
            score.add(name + step, "lineage", "edges", wanted, edges, is_right=edges >= wanted)


def _run(folder: str, *command: str) -> str:
    return subprocess.run(
        [*FORGEKIT, *command], cwd=folder, capture_output=True, text=True, check=False
    ).stdout


def _decision(score: Score, step: str, wanted: Row, rows: Sequence[Row]) -> None:
    same = _named(wanted["id"], rows)
    score.add(step, "decision found", wanted["id"], wanted["text"], None, is_right=bool(same))
    if not same:
        return
    active = [row for row in same if row["status"] == "active"]
    states = [row["status"] for row in same]
    one = len(active) == (wanted["state"] == "active")
    score.add(step, "decision state", wanted["id"], wanted["state"], states, is_right=one)
    row = (active or same)[0]
    score.add(
        step,
        "text",
        wanted["id"],
        wanted["text"],
        row["decision"],
        is_right=_near(wanted["text"], [row["decision"]]),
    )
    names = {each["decision_id"]: _key(each["local_id"]) for each in rows}
    needs = {names.get(each) for each in row["dependencies"]}
    score.add(
        step,
        "dependencies",
        wanted["id"],
        wanted["depends_on"],
        needs,
        is_right=needs == {*map(_key, wanted["depends_on"])},
    )
    if reason := wanted["rationale"]:
        given = [row["rationale"], *row["rationale"].split("\n\n")]
        score.add(step, "rationale", wanted["id"], reason, row["rationale"], is_right=_near(reason, given))
    if others := wanted["alternatives"]:
        got = row["alternatives_rejected"]
        score.add(
            step, "alternatives", wanted["id"], others, got, is_right=all(_near(each, got) for each in others)
        )
    if wanted["tier"] is not None:
        tier = row["epistemic_tier"]
        score.add(step, "tier given", wanted["id"], wanted["tier"], tier, is_right=tier is not None)
    if by := wanted["replaced_by"]:
        got = [names.get(each["superseded_by"]) for each in same]
        score.add(step, "replaced by", wanted["id"], by, got, is_right=_key(by) in got)


def _thread(score: Score, step: str, wanted: Row, rows: Sequence[Row]) -> None:
    same = _named(wanted["id"], rows)
    score.add(step, "thread found", wanted["id"], wanted["title"], None, is_right=bool(same))
    if not same:
        return
    row, state = same[0], OPEN.get(wanted["state"], wanted["state"])
    states = [each["status"] for each in same]
    score.add(step, "thread state", wanted["id"], state, states, is_right=states == [state])
    score.add(
        step,
        "title",
        wanted["id"],
        wanted["title"],
        row["title"],
        is_right=_near(wanted["title"], [row["title"]]),
    )
    if answer := wanted["resolution"]:
        got = row["resolution"] or ""
        score.add(step, "resolution", wanted["id"], answer, got, is_right=_near(answer, [got]))
    if priority := wanted["priority"]:
        score.add(
            step, "priority", wanted["id"], priority, row["priority"], is_right=row["priority"] == priority
        )


def _named(local_id: str, rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if _key(row["local_id"]) == _key(local_id)]


def _key(local_id: str | None) -> str:
    """Return a letter and a number: `D01`, `D-1` and `DEC-1` of one archive are one id."""
    number = re.sub(r"\D", "", local_id or "").lstrip("0") or re.sub(r".*(?=[A-Z]$)", "", local_id or "")[:1]
    return (local_id or "")[:1].upper() + number


def _near(wanted: str, given: Iterable[str]) -> bool:
    """Say whether one of some texts holds nearly the letters of another one."""
    letters = _letters(wanted)
    for text in map(_letters, given):
        if letters in text or difflib.SequenceMatcher(None, letters, text).ratio() >= 0.85:
            return True
    return False


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


if __name__ == "__main__":
    main()
