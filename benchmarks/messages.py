"""How well `search --scope messages` finds the turn that answers a question, beside a plain BM25.

    python benchmarks/messages.py [FOLDER]

FOLDER (default `../shared/data`) holds `locomo/` (Maharana et al., 2024) and `score.py`. Each conversation is
ingested with its text into a registry that is thrown away, as a project of its own; then each question is put
to what `search --scope messages` asks, within its project and over all of them. The control is BM25 (k1 1.2,
b 0.75) over the same texts, split at what is no letter or digit. Recall and MRR are those of `score.py`;
questions that no turn answers are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forgekit.filing.conversations import ingest
from forgekit.forge import Forge
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.times import Instant
from forgekit.upkeep.init_migrate import initialise

Row = dict[str, Any]
START = Instant(1_680_000_000_000)
MOST = 10
K1, B = 1.2, 0.75
WORD = re.compile(r"\w+")


def main() -> int:
    """Print the table; exit 1 where the conversations are not there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().folder
    needed = [folder / name for name in ("score.py", "locomo/turns.jsonl.gz", "locomo/queries.jsonl.gz")]
    if missing := [str(path) for path in needed if not path.exists()]:
        print(f"SKIPPED: the search of messages is not measured; there is no {missing[0]}", file=sys.stderr)
        return 1
    score = scorer(folder / "score.py")
    turns, queries = (score.rows(str(path)) for path in needed[1:])
    with tempfile.TemporaryDirectory() as scratch:
        forge = registry(Path(scratch), turns)
        names = numbered(turns)

        def product(query: Row, within: str | None) -> list[str]:
            found = forge.catalogue.messages(query["query"], project=within, limit=MOST)
            return [names[one.project, one.number] for one in found]

        talks = len(forge.registry().conversations)
        control = Control(turns)
        print(f"{talks} conversations, {len(turns):,} turns\n{'':24}{'asked':>6}{'R@1':>7}{'R@5':>7}", end="")
        print(f"{'R@10':>7}{'MRR':>7}")
        for name, ranked in (("--scope messages", product), ("BM25", control.ranked)):
            for where in ("within", "over all"):
                show(f"{name}, {where}", asked(queries, ranked, within=where == "within"), queries, score)
    return 0


def scorer(path: Path) -> Any:
    """Import the scorer that lies beside the data."""
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(row: Row) -> str:
    """Return what is searched of a turn: who said it, what was said, and what a picture shows."""
    picture = f" [picture: {row['image_caption']}]" if row["image_caption"] else ""
    return f"{row['speaker']}: {row['text']}{picture}"


def grouped(turns: list[Row]) -> dict[str, list[Row]]:
    """Return the turns of each conversation, in their order."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in turns:
        groups[row["conversation"]].append(row)
    return groups


def numbered(turns: list[Row]) -> dict[tuple[str, int], str]:
    """Return the id of each turn by its conversation and its number."""
    groups = grouped(turns).items()
    return {(name, number): row["id"] for name, rows in groups for number, row in enumerate(rows, 1)}


def registry(root: Path, turns: list[Row]) -> Forge:
    """Return a registry that the conversations were ingested into."""
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.org")):
        subprocess.run(["git", "-C", str(root), "config", key, value], check=True)
    initialise(root)
    forge = Forge.open(root)
    report = ingest(forge, transcripts(turns), with_text=True)
    if report.problems:
        print(f"{len(report.problems)} doubtful: {report.problems[0]}", file=sys.stderr)
    return forge


def transcripts(turns: list[Row]) -> Iterator[ImportedConversation]:
    """Yield each conversation as a reader would; its first speaker stands for the user."""
    for name, rows in grouped(turns).items():
        said = tuple(
            Turn(
                number=number,
                speaker=Speaker.USER if row["speaker"] == rows[0]["speaker"] else Speaker.ASSISTANT,
                time=Instant(START + number * 60_000),
                text=text_of(row),
            )
            for number, row in enumerate(rows, 1)
        )
        yield ImportedConversation(
            source="claude",
            external_id=name,
            title=name,
            project=name,
            folder="",
            started=START,
            turns=said,
        )


class Control:
    """Plain BM25 over turns."""

    def __init__(self, turns: list[Row]) -> None:
        self.turns = turns
        self.words = [Counter(WORD.findall(text_of(row).casefold())) for row in turns]

    def ranked(self, query: Row, within: str | None) -> list[str]:
        """Return the ids of the best turns, of one conversation or of all."""
        at = [n for n, row in enumerate(self.turns) if within in (None, row["conversation"])]
        mean = sum(self.words[n].total() for n in at) / len(at)
        scores: dict[int, float] = defaultdict(float)
        for word in set(WORD.findall(query["query"].casefold())):
            having = [n for n in at if word in self.words[n]]
            weight = math.log(1 + (len(at) - len(having) + 0.5) / (len(having) + 0.5))
            for n in having:
                often, length = self.words[n][word], self.words[n].total()
                scores[n] += weight * often * (K1 + 1) / (often + K1 * (1 - B + B * length / mean))
        best = sorted(scores, key=lambda n: (-scores[n], n))[:MOST]
        return [self.turns[n]["id"] for n in best]


def asked(queries: list[Row], ranked: Callable[[Row, str | None], list[str]], *, within: bool) -> list[Row]:
    """Return what is found for each question, within its conversation or over all."""
    return [{"id": q["id"], "ranked": ranked(q, q["conversation"] if within else None)} for q in queries]


def show(name: str, found: list[Row], queries: list[Row], score: Any) -> None:
    """Print one line."""
    said = score.retrieval(queries, found, skip_adversarial=True)
    numbers = [said["all"][key] for key in ("recall@1", "recall@5", "recall@10", "mrr")]
    print(f"{name:26}{said['queries']:>4}" + "".join(f"{number:7.3f}" for number in numbers), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
