"""TOML and INI as mappings."""

from __future__ import annotations

import pytest

from forgekit.archives.read import read_archive
from forgekit.archives.sections import is_sectioned, load_sections
from forgekit.errors import FormatError

TOML = """# keys of our own
name = "lantern-09"

[decision.standlight]
says = "The light stays on"
because = "the regulations ask for it"
not = ["two minutes", "never"]

[decision.dimming]
says = "Dimming at 400 Hz"
because = "200 Hz was visible"
needs = ["standlight"]

[[made]]
file = "pwm.c"
done = true

[notes]
files = ["light.csv", "pwm.h"]
"""
INI = """; by hand
[head]
tag = BOAT-2
project = The boat

[decision 1]
text = Use a wood stove
reason = the tank leaks
rejected = diesel; heat pump

[decision 2]
text = Insulate with wool
depends on = decision 1
"""


def test_toml_is_mappings_that_know_their_lines() -> None:
    found = load_sections(TOML, 10)
    assert found["decision"]["dimming"]["needs"] == ["standlight"]
    assert (found["decision"]["dimming"].line, found["made"][0].line) == (18, 23)
    assert found["made"][0]["done"] == "true"


def test_numbered_sections_of_ini_are_those_of_one_list() -> None:
    found = load_sections(INI, 1)
    assert list(found["decision"]) == ["decision 1", "decision 2"]
    assert (found["head"]["tag"], found["decision"]["decision 2"].line) == ("BOAT-2", 11)


@pytest.mark.parametrize("text", ["- [x] done\n- [ ] open\n", "[a]\nwords\n\n[b]\nwords\n", "key: value\n"])
def test_other_texts_are_no_sections(text: str) -> None:
    assert not is_sectioned(text)


def test_what_is_neither_toml_nor_ini_is_refused() -> None:
    with pytest.raises(FormatError, match="neither TOML nor INI"):
        load_sections("[a]\n b\n = c\n", 1)
    with pytest.raises(FormatError, match=r"x\.y is a key and a section"):
        load_sections("x = a b\n[x.y]\nz = 1 2\n", 1)


@pytest.mark.parametrize("text", [f"x = {'[' * 5_000}", f"[{'.'.join('a' * 200)}]\nx = 1\n"])
def test_deep_sections_are_refused(text: str) -> None:
    with pytest.raises(FormatError, match="is nested too deeply"):
        load_sections(text, 1)


@pytest.mark.parametrize("text", [TOML, f"The state:\n\n```toml\n{TOML}```\n"])
def test_records_in_toml_are_read(text: str) -> None:
    read = read_archive(text)
    assert read.threads == ()
    assert [(d.local_id, d.text, d.rationale, d.alternatives, d.dependencies) for d in read.decisions] == [
        ("standlight", "The light stays on", "the regulations ask for it", ("two minutes", "never"), None),
        ("dimming", "Dimming at 400 Hz", "200 Hz was visible", (), ("standlight",)),
    ]


def test_records_in_ini_are_read() -> None:
    read = read_archive(INI)
    assert [(d.local_id, d.text, d.alternatives, d.dependencies) for d in read.decisions] == [
        ("decision 1", "Use a wood stove", ("diesel", "heat pump"), None),
        ("decision 2", "Insulate with wool", (), ("decision 1",)),
    ]
    assert read.tag == "BOAT-2"
