"""Fit the classifier of states, and write forgekit/archives/states.bin.

    python training/states/fit.py [--hold-out HAND]

`phrases.zip` holds a file for each hand: lines of kind, class, language and phrase, parted by tabs. The texts
and states that are marked in the tagger's archives are added. With a hand held out nothing is written, and
what is read right of that hand's phrases is printed.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

sys.path.append(str(Path(__file__).parents[1] / "reader"))

from annotated import read_examples

from forgekit.archives import states

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "forgekit" / "archives" / "states.bin"
_SCALE = 256
"""Steps of a weight."""
_OF_KIND = {"active": "D", "revised": "D", "invalidated": "D", "resolved": "T", "abandoned": "T"}
"""The states that are marked in archives of one kind alone."""


def main() -> None:
    """Fit and write, or fit without a hand and print what is read of it."""
    parser = argparse.ArgumentParser(description="fit the classifier of states")
    parser.add_argument("--hold-out", default="", help="a hand that is not fitted and is scored")
    out = parser.parse_args().hold_out
    some = phrases()
    weights = {kind: fitted([each for each in some if each.hand != out], kind) for kind in states.CLASSES}
    if not out:
        raw = b"".join(weights[kind].tobytes() for kind in states.CLASSES)
        OUT.write_bytes(zlib.compress(raw, 9))
        print(f"{len(some)} phrases; {OUT.stat().st_size:,} bytes")
        return
    for kind, fitted_rows in weights.items():
        rows = fitted_rows.tolist()
        held = [each for each in some if each.hand == out and each.kind == kind]
        for margin in (0, states.MARGIN):
            said = [(each, states.best(rows, each.text, kind, margin=margin)) for each in held]
            right = sum(each.meaning == name != "none" for each, name in said)
            wrong = sum(name not in (None, "none", each.meaning) for each, name in said)
            invented = sum(each.meaning == "none" and name not in (None, "none") for each, name in said)
            all_ = sum(each.meaning != "none" for each in held)
            print(f"{kind} {margin}: {right} of {all_} states right, {wrong} wrong, {invented} of them texts")


class Phrase(NamedTuple):
    """A line of a hand."""

    hand: str
    kind: str
    meaning: str
    text: str


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


def fitted(some: list[Phrase], kind: str) -> np.ndarray:
    """Return the weights of a kind, a row for each class."""
    own = [each for each in some if each.kind == kind]
    model = LogisticRegression(C=30, max_iter=400, fit_intercept=False)
    model.fit(_matrix(own), [each.meaning for each in own])
    rows = dict(zip(model.classes_, model.coef_, strict=True))
    return np.round(np.array([rows[name] for name in states.CLASSES[kind]]) * _SCALE).astype("<i2")


def _matrix(some: list[Phrase]) -> csr_matrix:
    found = [states.features(each.text) for each in some]
    values = np.concatenate([np.full(len(row), len(row) ** -0.5) for row in found])
    starts = np.cumsum([0, *map(len, found)])
    return csr_matrix((values, np.concatenate(found), starts), shape=(len(some), 1 << states.BITS))


if __name__ == "__main__":
    main()
