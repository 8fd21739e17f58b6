"""How well each mode of search finds what a question is about.

    python benchmarks/retrieval.py [--quick] [--halves] [--data ../shared/data] [--set NAME]

Sets, read in place and skipped where they are not there:

    decisions         decision records of public projects, questions that paraphrase them
    cranfield         abstracts of aerodynamics, and the questions of the Cranfield experiments (1967)
    locomo            the turns of one long conversation, and questions about it (Maharana et al., 2024)
    locomo haystack   the same questions over the turns of all conversations

Each text becomes an entity; words go through an in-memory catalogue, meaning through the vectors, both
together through `forgekit.search.rank`, as in a search. Measured as `score.py` beside the data defines it:
recall at 1, 5 and 10, MRR over the first hundred, nDCG at 10, and its 95 % interval by bootstrap. LoCoMo's
adversarial questions, which no turn answers, are left out, as in the baselines of the data.

The halves are those of the questions in the order of SHA-256 of their ids, dealt in turn. Both were read
while the rule of the product was chosen: they show how far a figure hangs on the questions, and test nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from messages import scorer

from forgekit.ids import EntityId, conversation_id, project_id, thread_id
from forgekit.index import query as catalogue_query
from forgekit.index.query import NAMED_SCORE, Hit
from forgekit.index.rows import memory_of
from forgekit.index.vectors import Vectors
from forgekit.model.entities import Thread
from forgekit.model.rules import one_line
from forgekit.model.settings import Settings
from forgekit.models.encoder import Encoder, Missing, find_encoder
from forgekit.search import POOL, Mode, by_meaning, rank
from forgekit.times import Instant

HERE = Path(__file__).resolve().parent
PROJECT = project_id("benchmark")
TALK = conversation_id(PROJECT, "benchmark", Instant(0))
QUICK_DOCUMENTS, QUICK_QUERIES = 600, 60


@dataclass(frozen=True, kw_only=True)
class Text:
    """What can be found; a question is asked within one group."""

    key: str
    title: str
    body: str
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Texts, and questions with what answers them."""

    name: str
    texts: list[Text]
    queries: list[dict[str, Any]]
    grouped: bool = False


def tasks(data: Path, rows: Callable[[str], list[dict[str, Any]]]) -> Iterator[Task]:
    """Yield the sets that are there."""
    for name, needs in (("decisions", "decisions.jsonl.gz"), ("cranfield", ""), ("locomo", "")):
        if not (data / (needs or name)).exists():
            sys.stderr.write(f"SKIPPED: {data / (needs or name)} is not there\n")
            continue
        if name == "decisions":
            texts = [Text(key=r["id"], title=r["title"], body=r["text"]) for r in rows(needs)]
            yield Task(name=name, texts=texts, queries=rows("decision_queries.jsonl"))
        elif name == "cranfield":
            texts = [
                Text(key=r["id"], title=r["title"], body=r["text"].removeprefix(r["title"]))
                for r in rows("cranfield/docs.jsonl.gz")
            ]
            yield Task(name=name, texts=texts, queries=rows("cranfield/queries.jsonl"))
        else:
            texts = [
                Text(
                    key=r["id"],
                    title=f"{r['speaker']}: {r['text']}",
                    body=" ".join(filter(None, (r["text"][250:], r["image_caption"], r["session_datetime"]))),
                    group=r["conversation"],
                )
                for r in rows("locomo/turns.jsonl.gz")
            ]
            queries = rows("locomo/queries.jsonl.gz")
            yield Task(name=name, texts=texts, queries=queries, grouped=True)
            yield Task(name=f"{name} haystack", texts=texts, queries=queries)


def sampled(task: Task) -> Task:
    """Return a task of some questions, what answers them, and texts up to a limit."""
    step = max(1, len(task.queries) // QUICK_QUERIES)
    queries = task.queries[::step][:QUICK_QUERIES]
    wanted = {key for query in queries for key in query["relevant"]}
    spare = max(1, len(task.texts) // QUICK_DOCUMENTS)
    texts = [text for n, text in enumerate(task.texts) if text.key in wanted or n % spare == 0]
    return Task(name=task.name, texts=texts, queries=queries, grouped=task.grouped)


def entity_of(text: Text) -> Thread:
    """Return a text as an entity."""
    title, body = one_line(text.title)[:300] or "untitled", one_line(text.body)
    return Thread(
        thread_id=thread_id(PROJECT, text.key, TALK),
        title=title,
        project_name="benchmark",
        project_uuid=PROJECT,
        first_seen_in=TALK,
        conversation_ids=(TALK,),
        created_at=Instant(0),
        updated_at=Instant(0),
        body=f"## Content\n\n{body}" if body else "",
    )


class Haystack:
    """Texts that can be searched in each mode."""

    def __init__(self, texts: Iterable[Text], encoder: Encoder, cache: Path) -> None:
        entities = {text.key: entity_of(text) for text in texts}
        self.keys = {entity.id: key for key, entity in entities.items()}
        self._db = memory_of(entities.values())
        self._vectors = Vectors(cache, encoder)
        said = {entity: catalogue_query.embedding_texts(self._db, entity, "") for entity in self.keys}
        self._vectors.update(
            (entity, sha256("\0".join(parts).encode()).hexdigest(), partial(tuple, parts))
            for entity, parts in said.items()
        )

    def ranked(self, query: str) -> dict[Mode, list[str]]:
        """Return what each mode finds, best first."""
        words: list[Hit] = catalogue_query.search(self._db, query, limit=POOL)
        vector = self._vectors.vector(query)
        nearest = self._vectors.search(vector, POOL)
        far = self._vectors.cosines(vector, {hit.id for hit in words}.difference(dict(nearest)))
        full = catalogue_query.full_score(self._db, query)
        found: dict[Mode, list[EntityId]] = {
            Mode.LEXICAL: [hit.id for hit in words if hit.score < NAMED_SCORE],
            Mode.SEMANTIC: [place.id for place in by_meaning(words, nearest)],
            Mode.HYBRID: [place.id for place in rank(words, nearest, far, full)],
        }
        return {mode: [self.keys[entity] for entity in ids] for mode, ids in found.items()}


def predictions(task: Task, encoder: Encoder, cache: Path) -> dict[Mode, list[dict[str, Any]]]:
    """Return what each mode finds for each question."""
    groups = defaultdict(list)
    for text in task.texts:
        groups[text.group if task.grouped else ""].append(text)
    out: dict[Mode, list[dict[str, Any]]] = defaultdict(list)
    for name, texts in groups.items():
        haystack = Haystack(texts, encoder, cache)
        for query in task.queries:
            if not task.grouped or query["conversation"] == name:
                for mode, ranked in haystack.ranked(query["query"]).items():
                    out[mode].append({"id": query["id"], "ranked": ranked})
    return out


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a sample of each set")
    parser.add_argument("--halves", action="store_true", help="each half of the questions, too")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--set", dest="only", help="this set alone")
    parser.add_argument("--cache", type=Path, help="keep the vectors in this folder")
    options = parser.parse_args()
    if not (options.data / "score.py").is_file():
        sys.exit(f"SKIPPED: {options.data / 'score.py'} is not there; --data names another folder")
    score = scorer(options.data / "score.py")
    with tempfile.TemporaryDirectory() as scratch:
        cache = options.cache or Path(scratch)
        encoder = find_encoder(Settings(), cache)
        if isinstance(encoder, Missing):
            sys.exit(f"SKIPPED: {encoder}")
        print(f"{encoder.name}{', samples' if options.quick else ''}; fused from the first {POOL} of each")
        head = f"{'set':17}{'texts':>6}{'asked':>6}  {'mode':9}"
        print(f"{head}{'R@1':>7}{'R@5':>7}{'R@10':>7}{'MRR':>7}{'nDCG@10':>9}  95 %\n{'-' * 90}")
        for whole in tasks(options.data, lambda name: score.rows(str(options.data / name))):
            if options.only in (None, whole.name):
                task = sampled(whole) if options.quick else whole
                found = predictions(task, encoder, cache)
                show(task.name, task.texts, task.queries, found, score)
                for half, queries in enumerate(halves(task.queries), 1) if options.halves else ():
                    show(f"  half {half}", task.texts, queries, found, score)


def halves(queries: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return each half of the questions, by the hashes of their ids."""
    dealt = sorted(queries, key=lambda query: sha256(query["id"].encode()).hexdigest())
    return dealt[::2], dealt[1::2]


def show(
    name: str,
    texts: list[Text],
    queries: list[dict[str, Any]],
    found: dict[Mode, list[dict[str, Any]]],
    score: Any,
) -> None:
    """Print the lines of a set or of a half."""
    for mode in Mode:
        said = score.retrieval(queries, found[mode], skip_adversarial=True)
        m, (low, high) = said["all"], said["ci95"]["ndcg@10"]
        numbers = "".join(f"{m[name]:7.3f}" for name in ("recall@1", "recall@5", "recall@10", "mrr"))
        first = f"{name:17}{len(texts):6}{said['queries']:6}" if mode is Mode.LEXICAL else ""
        print(f"{first:29}  {mode.value:9}{numbers}{m['ndcg@10']:9.3f}  {low:.3f}-{high:.3f}", flush=True)


if __name__ == "__main__":
    main()
