"""The bank: questions that have to be settled, with answers that exclude each other, in people's words.

A file of `bank/` is a YAML list of slots. Each slot is one question; its `choices` (or the `values` of an
`amount`) exclude each other; `against` says no to one of them, `refines` narrows one, `beside` holds
whichever is chosen, and `near` has the same words and speaks of another thing. All of it was written for
this purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

BANK = Path(__file__).with_name("bank")
Texts = tuple[str, ...]


class Verdict(Enum):
    """The labels of a pair, in the order of the head's logits."""

    CONTRADICTION = "contradiction"  # they cannot both be followed
    DUPLICATE = "duplicate"  # they say the same
    REFINEMENT = "refinement"  # one narrows, scopes or adds to the other
    RELATED = "related"  # one topic, independent of each other
    UNRELATED = "unrelated"


_COMMON = {"slot", "about", "beside", "near", "scopes"}
_SHAPES = (_COMMON | {"choices", "against", "refines"}, _COMMON | {"amount", "values"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One answer of a slot.

    Attributes:
        name: a noun phrase, such as "content hashes".
        wordings: whole decisions that say so.
        against: decisions that say no to it and name no other answer.
        refines: what narrows it or adds to it, and leaves no room for another answer.
    """

    name: str
    wordings: Texts
    against: Texts = ()
    refines: Texts = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One question.

    Attributes:
        topic: name of the file that it stands in.
        about: a noun phrase that fits after "for".
        choices: empty where it is about an amount.
        amounts: sentences with one `{}` for a value; `values` has equal ones in several notations.
        beside: of the same topic, true whatever the answer is.
        near: in the words of an answer, about another thing; may have one `{}` where the slot is an amount.
        scopes: phrases that fit after "for".
    """

    name: str
    topic: str
    about: str
    choices: tuple[Choice, ...] = ()
    amounts: Texts = ()
    values: tuple[Texts, ...] = ()
    beside: Texts
    near: Texts
    scopes: Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribute:
    """What can be said of many subjects in the same plain sentences.

    Attributes:
        says: sentences with one `{s}` and one `{v}`.
        values: groups that exclude each other; a group holds one value in several words.
        parts: phrases that limit where a sentence holds.
        also: sentences with one `{s}`, true whatever the value is.
    """

    name: str
    subjects: Texts
    says: Texts
    values: tuple[Texts, ...]
    parts: Texts
    also: Texts


def read_attributes(folder: Path = BANK / "attributes") -> list[Attribute]:
    """Read all attributes, ordered by file and place.

    Raises ValueError for an attribute of another shape.
    """
    out = []
    for path in sorted(folder.glob("*.yaml")):
        for entry in _entries(path):
            if set(entry) != {"attribute", "subjects", "says", "values", "parts", "also"}:
                raise ValueError(f"{path.name}: {entry.get('attribute')!r} has the keys {sorted(entry)}")
            texts = {key: _texts(entry[key]) for key in ("subjects", "says", "parts", "also")}
            values = tuple(_texts(row) for row in entry["values"])
            out.append(Attribute(name=entry["attribute"], values=values, **texts))
    return out


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A pair written as it stands; `label` names a verdict."""

    label: str
    a: str
    b: str


def read_pairs(folder: Path = BANK / "pairs", *, held: bool = False) -> list[Written]:
    """Read the pairs that were written one by one; the files `validation*` are held back."""
    return [
        Written(**json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        if path.stem.startswith("validation") is held
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Register:
    """The decisions of one project, of which any two can be followed.

    Attributes:
        against: number of a decision (from 0), and a text that excludes it.
        same: number of a decision, and a text that says the same.
        detail: number of a decision, and a text that narrows it and leaves all others alone.
    """

    name: str
    decisions: Texts
    against: tuple[tuple[int, str], ...]
    same: tuple[tuple[int, str], ...]
    detail: tuple[tuple[int, str], ...]


def read_registers(folder: Path = BANK / "registers") -> list[Register]:
    """Read all registers, ordered by file and place."""
    return [
        _register(json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def _register(entry: Mapping[str, Any]) -> Register:
    lists = {key: tuple((at, text) for at, text in entry[key]) for key in ("against", "same", "detail")}
    return Register(name=entry["project"], decisions=_texts(entry["decisions"]), **lists)


def read_bank(folder: Path = BANK) -> list[Slot]:
    """Read all slots, ordered by file and place.

    Raises ValueError for a slot of another shape, and for one that stands there twice.
    """
    slots = [slot for path in sorted(folder.glob("*.yaml")) for slot in _slots(path)]
    seen: dict[str, Slot] = {}
    for slot in slots:
        if slot.name in seen:
            raise ValueError(
                f"{slot.topic}: the slot {slot.name!r} stands in {seen[slot.name].topic} already"
            )
        seen[slot.name] = slot
    return slots


def _slots(path: Path) -> Iterator[Slot]:
    for entry in _entries(path):
        if set(entry) not in _SHAPES:
            raise ValueError(f"{path.name}: the slot {entry.get('slot')!r} has the keys {sorted(entry)}")
        yield Slot(
            name=entry["slot"],
            topic=path.stem.rpartition("_")[0],
            about=entry["about"],
            choices=tuple(_choices(entry)),
            amounts=_texts(entry.get("amount", ())),
            values=tuple(_texts(row) for row in entry.get("values", ())),
            beside=_texts(entry["beside"]),
            near=_texts(entry["near"]),
            scopes=_texts(entry["scopes"]),
        )


def _entries(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return entries


def _choices(entry: Mapping[str, Any]) -> Iterator[Choice]:
    for name, wordings in entry.get("choices", {}).items():
        against, refines = (entry[key].get(name, ()) for key in ("against", "refines"))
        yield Choice(name=name, wordings=_texts(wordings), against=_texts(against), refines=_texts(refines))


def _texts(values: Sequence[Any]) -> Texts:
    return tuple(str(value) for value in values)
