"""Notes under one budget: a vault of real records in 8,000, 4,000 and 2,000 tokens, essences, topics, costs.

    python benchmarks/notes.py DATA [--records 600] [--many 10000]

DATA holds `adr_documents.jsonl.gz` and `decisions.jsonl.gz`. The records become Markdown files dated over two
years, in a folder for each repository or corpus; the registry is made in a temporary folder.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any, cast

import numpy as np
from costs import FORGEKIT, Invented, process, taken

from forgekit import context, notes
from forgekit.extraction.sentences import whole_sentences
from forgekit.forge import Forge
from forgekit.insight.budget import allocate
from forgekit.insight.notes import candidates
from forgekit.model.entities import Note
from forgekit.models.encoder import Encoder, Missing
from forgekit.models.essences import ExtractiveDistiller
from forgekit.queries import status
from forgekit.text.words import tokens
from forgekit.times import DAY_MS, Instant, format_date, parse_instant
from forgekit.upkeep.init_migrate import initialise
from forgekit.upkeep.maintain import _AT_ONCE, maintain, note_threads

NOW = parse_instant("2026-09-01T00:00:00Z")
QUERY = "which database and message queue"


def records(data: Path, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield (folder, title, text), chosen by a fixed seed; a repository is one folder in both corpora."""
    found = []
    for one in _lines(data / "adr_documents.jsonl.gz"):
        text = re.sub(r"\A---\n.*?\n---\n", "", one["markdown"], flags=re.DOTALL)
        heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
        if heading and len(text) > 300:
            found.append((one["repo"].replace("/", "-"), heading[1].strip(), text))
    for one in _lines(data / "decisions.jsonl.gz"):
        if len(one.get("text") or "") > 200:
            text = f"# {one['title']}\n\n{one['text']}"
            found.append((one["corpus"].removeprefix("adr:").replace("/", "-"), one["title"], text))
    random.Random(24).shuffle(found)
    yield from found[:count]


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_vault(folder: Path, chosen: Sequence[tuple[str, str, str]]) -> None:
    """Write a file for each record; the days are spread evenly over two years."""
    for number, (group, _, text) in enumerate(chosen):
        day = format_date(Instant(NOW - int(730 * (1 - number / len(chosen)) * DAY_MS)))
        path = folder / group / f"{number:04}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ndate: {day}\n---\n{text}\n", encoding="utf-8")


def adjusted_rand(a: Sequence[object], b: Sequence[object]) -> float:
    """Return how alike two groupings of the same items are; 0 by chance, 1 for the same."""
    pairs = sum(comb(n, 2) for n in Counter(zip(a, b, strict=True)).values())
    left, right = (sum(comb(n, 2) for n in Counter(side).values()) for side in (a, b))
    chance = left * right / comb(len(a), 2)
    return (pairs - chance) / ((left + right) / 2 - chance)


def timed(what: str, do: Callable[[], Any]) -> Any:
    """Print how long something takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = do()
    print(f"| {what} | {time.perf_counter() - wall:.2f} s | {time.process_time() - cpu:.2f} s |", flush=True)
    return found


def blocks(forge: Forge) -> None:
    """Print what blocks of three sizes hold."""
    topics = [t for t in forge.registry().topics if t.merged_into is None]
    counts = status(forge).notes
    print(f"\ntiers: {counts}; topics: {len(topics)}, with {sum(len(t.note_ids) for t in topics)} notes\n")
    print("| budget | tokens | topics shown | with digest | notes shown | whole | essence | title "
        "| left out | hash |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    spent = []
    for budget in (8_000, 4_000, 2_000):
        found = context.load(forge, QUERY, budget=budget)
        if found.text != context.load(forge, QUERY, budget=budget).text:
            raise SystemExit("the same block came out in other bytes")
        of = {s: [p for p in found.placed if p.section == s] for s in ("Threads of thought", "Notes")}
        told, kept = ([p for p in some if p.rendition is not None] for some in of.values())
        digests = sum(p.of == 2 and p.rendition == 0 for p in told)
        levels = Counter("whole" if p.rendition == 0 and p.of == 3 else "title" if p.rendition == p.of - 1
            else "essence" for p in kept)  # fmt: skip
        cells = (len(told), digests, len(kept), levels["whole"], levels["essence"], levels["title"])
        digest = hashlib.sha256(found.text.encode()).hexdigest()[:12]  # the same on every machine
        row = (budget, tokens(found.text), *cells, found.data["cut"], digest)
        print(f"| {' | '.join(map(str, row))} |")
        spent.append(f"tokens of {budget:,}: {found.data['tokens']}")
    print("", *spent, sep="\n")
    print(f"\n{context.load(forge, QUERY, budget=8_000).text}")


def essences(encoder: Encoder, found: Sequence[Note]) -> None:
    """Print how well the title finds its record by one short text of it."""
    rnd = random.Random(1)
    bodies = [re.sub(r"^# .*$", "", note.body, count=1, flags=re.MULTILINE) for note in found]
    own = [candidates(whole_sentences(body), body) or [""] for body in bodies]
    texts = {
        "essence": [note.essence or "" for note in found],
        "first sentence": [some[0] for some in own],
        "random sentence": [rnd.choice(some) for some in own],
        "whole text": [body[:4_000] for body in bodies],
    }
    queries = encoder.encode_queries([note.title for note in found])
    print("\n| text | MRR of the title |\n| --- | --- |")
    for name, some in texts.items():
        made = [encoder.encode_documents(some[at : at + 64]) for at in range(0, len(some), 64)]
        scores = queries @ np.vstack(made).T
        ranks = (scores > np.diag(scores)[:, None]).sum(1) + 1
        print(f"| {name} | {float((1 / ranks).mean()):.3f} |", flush=True)


def stability(forge: Forge, groups: dict[str, str]) -> None:
    """Print how clusters compare with folders, and with those of a part of the notes."""
    if forge.vectors is None:
        return
    keys = sorted(groups)
    whole = _labels(forge.vectors.clusters(keys))
    print("\n| compared | notes | adjusted Rand |\n| --- | --- | --- |")
    clustered = [key for key in keys if key in whole]
    folders = [groups[key] for key in clustered]
    print(f"| folders | {len(clustered)} | {adjusted_rand([whole[k] for k in clustered], folders):.3f} |")
    mixed = folders.copy()
    random.Random(3).shuffle(mixed)
    print(f"| folders, shuffled | {len(clustered)} | {adjusted_rand(folders, mixed):.3f} |")
    random.Random(2).shuffle(keys)
    for share in (1 / 3, 2 / 3):
        part = keys[: int(len(keys) * share)]
        some = _labels(forge.vectors.clusters(part))
        both = [key for key in part if key in some and key in whole]
        rand = adjusted_rand([some[k] for k in both], [whole[k] for k in both])
        print(f"| a part of {share:.0%} | {len(both)} | {rand:.3f} |")
    if whole != _labels(forge.vectors.clusters(keys)):
        raise SystemExit("the order of the notes matters")


def _labels(found: Sequence[Sequence[str]]) -> dict[str, str]:
    return {key: group[0] for group in found if len(group) > 2 for key in group}


def allocator() -> None:
    """Hold the allocator to its laws in 10,000 random cases, and print what that of many items costs."""
    rnd = random.Random(5)
    for _ in range(10_000):
        sizes = [[rnd.randint(1, 40) for _ in range(rnd.randint(1, 4))] for _ in range(12)]
        items = [sorted(some, reverse=True) for some in sizes]
        small, large = sorted(rnd.randint(0, 500) for _ in range(2))
        one, two = (allocate(items, budget, frozenset()) for budget in (small, large))
        for chosen, budget in ((one, small), (two, large)):
            spent = sum(costs[at] for costs, at in zip(items, chosen, strict=True) if at is not None)
            cheap = all(at in {None, len(costs) - 1} for costs, at in zip(items, chosen, strict=True))
            ended = None in chosen and any(at is not None for at in chosen[chosen.index(None) :])
            if spent > budget or ended or (None in chosen and not cheap):
                raise SystemExit(f"a law is broken: {items} in {budget} tokens")
        if any(a is not None and (b is None or b > a) for a, b in zip(one, two, strict=True)):
            raise SystemExit(f"a larger budget shows less: {items} in {small} and {large} tokens")
    items = [sorted((rnd.randint(5, 400) for _ in range(3)), reverse=True) for _ in range(10_000)]
    for budget in (100_000, 10_000_000):
        times = []
        for _ in range(5):
            begun = time.process_time()
            allocate(items, budget, frozenset({0}))
            times.append(time.process_time() - begun)
        print(f"allocate 10,000 items in {budget:,} tokens: {min(times) * 1000:.1f} ms of processor time")


def costs(place: Path, chosen: Sequence[tuple[str, str, str]], encoder: Encoder, many: int) -> None:
    """Print what commands cost as whole processes among many notes."""
    root, vault = place / "many", place / "large"
    repeated = ((number, *chosen[number % len(chosen)]) for number in range(many))
    write_vault(vault, [(group, title, f"{text}\n\nCopy {n}.") for n, group, title, text in repeated])
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    initialise(root)
    forge = replace(Forge.open(root), now=lambda: NOW)
    vars(forge)["encoder"] = Invented(encoder)
    print(f"\n| {many:,} notes, in process | wall | processor |\n| --- | --- | --- |")
    timed("ingest", lambda: notes.ingest_folder(forge, vault, project="Vault"))
    timed("distil, vectors invented", lambda: maintain(forge, only="distil"))
    timed("note threads apply", lambda: note_threads(forge, action="apply"))
    timed("maintain", lambda: maintain(forge))
    timed("fidelity of all", lambda: status(forge))
    time.sleep(2.5)  # files younger than two seconds are read twice
    os.environ["FORGEKIT_NOW"] = "2026-09-01T00:00:00Z"
    number = iter(range(1_000))
    typed = place / "typed.md"

    def add() -> None:
        typed.write_text(f"# Thought {next(number)}\n\nThe queue of messages needs a limit.\n")
        process(root, *FORGEKIT, "note", "add", str(typed))()

    commands = {
        "note add": add,
        "context": process(root, *FORGEKIT, "context", QUERY),
        "maintain, nothing due": process(root, *FORGEKIT, "maintain"),
    }

    print("\n| whole process | best | median | processor |\n| --- | --- | --- | --- |")
    for name, run in commands.items():
        if name == "maintain, nothing due":
            maintain(forge)
        (found,) = taken(9, run)
        cells = (found.wall[0], statistics.median(found.wall), statistics.median(found.processor))
        print(f"| {name} | {' | '.join(f'{cell:.0f} ms' for cell in cells)} |", flush=True)


def distillation(encoder: Encoder, chosen: Sequence[tuple[str, str, str]]) -> None:
    """Print what essences cost beside the encoding of the same sentences."""
    seen: list[list[str]] = []

    class Noted:
        name = encoder.name

        def encode_documents(self, texts: Sequence[str]) -> Any:
            seen.append(list(texts))
            return encoder.encode_documents(texts)

    distiller = ExtractiveDistiller(cast("Encoder", Noted()))
    pairs = [(title, text) for _, title, text in chosen]
    begun = time.process_time()
    for at in range(0, len(pairs), _AT_ONCE):
        list(distiller.distil(pairs[at : at + _AT_ONCE]))
    whole, begun = time.process_time() - begun, time.process_time()
    for some in seen:
        encoder.encode_documents(some)
    alone = time.process_time() - begun
    texts = sum(map(len, seen))
    print(f"\n{len(pairs)} essences of {texts:,} sentences and phrases: {whole:.1f} s of processor time, "
        f"{whole / alone - 1:+.1%} beside their encoding alone")  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--many", type=int, default=10_000)
    given = parser.parse_args()
    source = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    allocator()
    with tempfile.TemporaryDirectory() as place:
        root, vault = Path(place, "registry"), Path(place, "vault")
        chosen = list(records(given.data, given.records))
        write_vault(vault, chosen)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        initialise(root)
        forge = replace(Forge.open(root), now=lambda: NOW)
        if isinstance(forge.encoder, Missing):
            raise SystemExit(str(forge.encoder))
        if given.many:
            costs(Path(place), chosen, forge.encoder, given.many)
        if not given.records:
            return
        distillation(forge.encoder, chosen[:100])
        print("\n| step | wall | processor |\n| --- | --- | --- |")
        timed("ingest", lambda: notes.ingest_folder(forge, vault, project="Vault"))
        timed("ingest again", lambda: notes.ingest_folder(forge, vault, project="Vault"))
        timed("maintain", lambda: maintain(forge))
        timed("maintain, nothing due", lambda: maintain(forge))
        timed("note threads apply", lambda: note_threads(forge, action="apply"))
        blocks(forge)
        found = forge.registry().notes
        essences(forge.encoder, found[:500])
        stability(forge, {note.id: (note.source or "").split("/")[1] for note in found})
        topics = forge.registry().topics
        print("\nlabels:", "; ".join(f"{t.title} ({len(t.note_ids)})" for t in topics[:20]))
        print("\nessences:")
        for note in found[::15]:
            print(f"- {note.title}: {note.essence}")


if __name__ == "__main__":
    main()
