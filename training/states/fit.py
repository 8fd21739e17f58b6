"""Fit the network of states, and write forgekit/archives/states.bin.

    python training/states/fit.py [--hold-out HAND]

`phrases.zip` holds a file for each hand: lines of kind, class, language and phrase, parted by tabs. The texts
and states that are marked in the tagger's archives are added. Each epoch puts the sign of the subject before
some phrases and other words behind them, so that what follows a state says nothing. With a hand held out
nothing is written, and what is read right of that hand's phrases is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

sys.path.append(str(Path(__file__).parents[1] / "reader"))

from annotated import read_examples

from forgekit.archives import states
from forgekit.archives.network import stored_weights
from forgekit.archives.states import CLASSES, SUBJECT

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "forgekit" / "archives" / "states.bin"
WIDTH, HIDDEN = 32, 64
EPOCHS, BATCH, RATE = 8, 128, 3e-3
SINCE_SENTENCES = 12
"""The number of the first hand that wrote sentences with the sign of their subject."""
_TIMES = 3  # that such a sentence comes in an epoch
_OF_KIND = {"active": "D", "revised": "D", "invalidated": "D", "resolved": "T", "abandoned": "T"}
"""The states that are marked in archives of one kind alone."""
_JOINTS = (
    ", ",
    ", ",
    ", ",
    " - ",
    " \u2013 ",
    " \u2014 ",
    "; ",
    ": ",
    " (",
    ". ",
    " because ",
    " since ",
    " \u2192 ",
)
_WIDE_JOINTS = ("\u3001", "\u3002", "\uff1a", "\uff08")
_GOES_ON = ("active", "reinstated", "open", "reopened")
_DAYS = ("0/0: ", "0 May: ", "0.0. ", "2025-03-04: ", "\u21b3 ")
_NEW = (
    "new",
    "New",
    "neu",
    "nouveau",
    "nuevo",
    "novo",
    "nuovo",
    "nieuw",
    "nowe",
    "\u043d\u043e\u0432\u043e\u0435",
    "\u65b0\u898f",
    "\u65b0\u589e",
)
_SPANS = ("D", "T", "why", "res", "alt", "note")
_LONGEST = 160


class Phrase(NamedTuple):
    """A line of a hand."""

    hand: str
    kind: str
    meaning: str
    text: str


def main() -> None:
    """Fit and write, or fit without a hand and print what is read of it."""
    parser = argparse.ArgumentParser(description="fit the network of states")
    parser.add_argument("--hold-out", default="", help="a hand that is not fitted and is scored")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    some, tails = phrases(), _tails()
    network = fitted([each for each in some if each.hand != options.hold_out], tails, options.seed)
    if not options.hold_out:
        options.out.write_bytes(stored_weights(network.weights()))
        print(f"{len(some)} phrases; {options.out.stat().st_size:,} bytes")
        return
    held = [each for each in some if each.hand == options.hold_out]
    weights = {name: each.astype(np.float64) for name, each in network.weights().items()}
    rows = states.scores([each.text for each in held], weights)
    found = [(each, *states.best(row, each.kind)) for each, row in zip(held, rows, strict=True)]
    for margin in (0.0, states.MARGIN, 1.5):
        said = [(each, name if lead >= margin else "none") for each, name, lead in found]
        named = [(each, name) for each, name in said if each.meaning != "none"]
        right = sum(each.meaning == name for each, name in named)
        wrong = sum(name not in ("none", each.meaning) for each, name in named)
        texts = [name for each, name in said if each.meaning == "none"]
        invented = len(texts) - texts.count("none")
        print(
            f"{margin}: {right} of {len(named)} states right, {wrong} wrong; {invented} of {len(texts)} texts"
        )


def phrases() -> list[Phrase]:
    """Return the phrases of all hands, each once."""
    found: dict[tuple[str, str], Phrase] = {}
    with zipfile.ZipFile(HERE / "phrases.zip") as archive:
        for name in sorted(archive.namelist()):
            for line in archive.read(name).decode().splitlines():
                kind, meaning, _, text = line.split("\t")
                found.setdefault((kind, text), Phrase(name.removesuffix(".tsv"), kind, meaning, text))
    for each in _marked():
        found.setdefault((each.kind, each.text), each)
    return list(found.values())


def _marked() -> Iterator[Phrase]:
    """Yield the texts of records, which are no states, and the states in archives."""
    for name, example in read_examples(HERE.parent / "reader" / "annotations.zip"):
        hand = name.partition("/")[0]
        for span in example.spans:
            text = example.text[span.first : span.last]
            if span.tag in ("D", "T"):
                yield Phrase(hand, span.tag, "none", text)
            elif span.tag == "state" and (kind := _OF_KIND.get(span.value)):
                yield Phrase(hand, kind, span.value, text)


def _tails() -> Mapping[bool, list[str]]:
    """Return words of archives to put behind phrases, by whether their script has no blanks."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for _, example in read_examples(HERE.parent / "reader" / "annotations.zip"):
        for span in example.spans:
            text = example.text[span.first : span.last].strip()
            if span.tag in _SPANS and text and len(text) < _LONGEST and "\n" not in text:
                found[_is_wide(text)].append(text)
    return found


def _is_wide(text: str) -> bool:
    return any(ord(letter) > 0x2E80 for letter in text)


class Network(nn.Module):  # type: ignore[misc]
    """The arithmetic of `states.scores`, with gradients."""

    def __init__(self) -> None:
        """Begin with random weights."""
        super().__init__()
        self.embedding = nn.EmbeddingBag(states.BUCKETS, WIDTH, mode="sum")
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.first = nn.Conv1d(WIDTH + states.PLACES, HIDDEN, 3, padding=1)
        self.second = nn.Conv1d(HIDDEN, HIDDEN, 3, padding=1)
        self.out = nn.Linear(2 * HIDDEN, sum(map(len, CLASSES.values())))
        self.drop = nn.Dropout(0.3)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Return the scores of all classes of each text."""
        words = [states.words_of(text) for text in texts]
        rows = [states.features(word) for some in words for word in some]
        offsets = torch.tensor(np.cumsum([0, *map(len, rows[:-1])]))
        embedded = self.embedding(torch.tensor([row for some in rows for row in some]), offsets)
        placed = torch.tensor([row for some in words for row in states.places(some)])
        x, mask = (
            torch.zeros(len(texts), states.WORDS, WIDTH + states.PLACES),
            torch.zeros(len(texts), 1, states.WORDS),
        )
        begin = 0
        for number, some in enumerate(words):
            end = begin + len(some)
            x[number, : len(some)] = torch.cat([embedded[begin:end], placed[begin:end]], dim=1)
            mask[number, 0, : len(some)] = 1
            begin = end
        one = functional.relu(self.first(self.drop(x).transpose(1, 2))) * mask
        two = functional.relu(self.second(one)) * mask
        found: Tensor = self.out(self.drop(torch.cat([one.amax(2), two.amax(2)], dim=1)))
        return found

    def weights(self) -> Mapping[str, np.ndarray]:
        """Return the weights as `states.scores` takes them."""
        found = {"embedding": self.embedding.weight, "out": self.out.weight.T, "bias": self.out.bias}
        for name, layer in (("first", self.first), ("second", self.second)):
            found[name] = torch.cat([layer.weight[:, :, tap].T for tap in range(3)])
            found[f"{name} bias"] = layer.bias
        return {name: each.detach().numpy() for name, each in found.items()}


def fitted(some: Sequence[Phrase], tails: Mapping[bool, Sequence[str]], seed: int) -> Network:
    """Return a network fitted to phrases."""
    torch.manual_seed(seed)
    rng, network = random.Random(seed), Network()
    given = [each for each in some for _ in range(_TIMES if _is_sentence(each) else 1)]
    steps = EPOCHS * -(-len(given) // BATCH)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.15)
    for epoch in range(EPOCHS):
        rng.shuffle(given)
        losses = []
        for first in range(0, len(given), BATCH):
            batch = given[first : first + BATCH]
            loss = _loss(network([_varied(each, tails, rng) for each in batch]), batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            rates.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: {np.mean(losses):.3f}")
    network.eval()
    return network


def _is_sentence(phrase: Phrase) -> bool:
    return phrase.hand.startswith("h") and int(phrase.hand[1:]) >= SINCE_SENTENCES


def _loss(scores: Tensor, batch: Sequence[Phrase]) -> Tensor:
    first = len(CLASSES["D"])
    parts = []
    for kind, own in (("D", scores[:, :first]), ("T", scores[:, first:])):
        of = [number for number, each in enumerate(batch) if each.kind == kind]
        if of:
            wanted = torch.tensor([CLASSES[kind].index(batch[number].meaning) for number in of])
            parts.append(functional.cross_entropy(own[of], wanted, reduction="sum", label_smoothing=0.05))
    return sum(parts, torch.zeros(())) / len(batch)


def _varied(phrase: Phrase, tails: Mapping[bool, Sequence[str]], rng: random.Random) -> str:
    """Return a phrase with other words behind it, and the sign of its subject or a day before it."""
    text, is_wide = phrase.text, _is_wide(phrase.text)
    if phrase.meaning == "none" and SUBJECT not in text and rng.random() < 0.08:
        text = f"{rng.choice(_NEW)}{rng.choice((': ', ' - ', ', ', ' '))}{text}"
    if rng.random() < (0.25 if phrase.meaning == "none" else 0.5):
        joint, tail = rng.choice(_WIDE_JOINTS if is_wide else _JOINTS), rng.choice(tails[is_wide])
        if not (phrase.meaning in _GOES_ON and joint in (": ", "\uff1a")):  # new words would revise it
            tail = tail if tail[:2].isupper() else tail[0].lower() + tail[1:]
            text = f"{text.rstrip(' .')}{joint}{tail}"
    if SUBJECT in text:
        return text[1:].lstrip(" :") if text[0] == SUBJECT and rng.random() < 0.1 else text
    chance = rng.random()
    if chance > 0.95:
        return rng.choice(_DAYS) + text
    before = (f"{SUBJECT} ", 0.3), (f"{SUBJECT}: ", 0.45), (f"{SUBJECT} \u2192 ", 0.5)
    return next((lead for lead, least in before if chance < least), "") + text


if __name__ == "__main__":
    main()
