"""What the command line says when model, index or catalogue are not what they were."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli, Ran
from fake_encoder import FakeEncoder
from tiny_model import write_model

from forgekit.models.encoder import INSTALL

WORDS = ("search", "use grpc for ids", "--mode", "lexical", "--json")
MEANING = ("search", "use grpc for ids", "--mode", "semantic", "--json")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


@pytest.fixture
def root(registry: Path, model: Path, cli: Cli) -> Path:
    """Return a registry with an index of the tiny model's vectors."""
    path = registry / "forgekit.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('model = "" ', f'model = "{model}" '), encoding="utf-8")
    for text in ("Use grpc for ids", "Why did we choose rest", "Use uuid", "The query passage"):
        assert cli("decision", "new", text, "--project", "P", root=registry).code == 0
    assert cli("index", "build").err.endswith("vectors: 5 added, 0 kept, 0 removed\n")
    assert cli(*MEANING).code == 0
    return registry


def cache(root: Path) -> Path:
    return root / ".git" / "forgekit"


def hits(ran: Ran) -> list[tuple[str, float]]:
    assert ran.code == 0, ran.err
    return [(hit["title"], round(hit["score"], 5)) for hit in ran.json["hits"]]


def manifest(root: Path, **changed: Any) -> None:
    (path,) = cache(root).glob("vectors-*.json")
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changed), encoding="utf-8")


def truncate(pattern: str) -> Callable[[Path], None]:
    def do(root: Path) -> None:
        for path in cache(root).glob(pattern):
            os.truncate(path, path.stat().st_size // 2)

    return do


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(bytes(data))


def other_version(root: Path) -> None:
    for path in cache(root).glob("catalogue-*.sqlite"):
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("UPDATE meta SET value = 'schema 99, forgekit 99'")
        db.execute("DELETE FROM entity")
        db.close()


SILENT: dict[str, Callable[[Path], object]] = {
    "index cut in half": truncate("vectors-*.matrix"),
    "keys cut in half": truncate("vectors-*.ids"),
    "vectors cut in half": truncate("vectors.sqlite"),
    "databases cut in half": truncate("*.sqlite"),
    "index of a smaller dimension": lambda root: manifest(root, dimension=8),
    "index of a greater dimension": lambda root: manifest(root, dimension=32),
    "index of fewer rows": lambda root: manifest(root, count=2),
    "index of another layout": lambda root: manifest(root, layout=99),
    "index of another model": lambda root: manifest(root, space="another"),
    "catalogue of another version": other_version,
}


@pytest.mark.parametrize("way", SILENT)
def test_a_damaged_index_is_made_anew_in_silence(way: str, root: Path, cli: Cli) -> None:
    expected = [hits(cli(*command, root=root)) for command in (WORDS, MEANING)]
    assert all(expected)
    SILENT[way](root)
    for command, found in zip((WORDS, MEANING, WORDS, MEANING), expected * 2, strict=True):
        ran = cli(*command)
        assert ran.err == ""
        assert hits(ran) == found


def test_a_model_of_another_dimension_gets_an_index_of_its_own(
    root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hits(cli(*MEANING, root=root))
    with monkeypatch.context() as patched:
        patched.setattr("forgekit.models.encoder.find_encoder", lambda *_: FakeEncoder())
        first, second = (hits(cli(*MEANING)) for _ in range(2))
        assert first == second != before
    assert hits(cli(*MEANING)) == before


def test_a_wrong_byte_in_the_weights_makes_another_model(root: Path, model: Path, cli: Cli) -> None:
    """Nobody published a hash for a model of one's own: its vectors are never mixed with the others."""
    before = hits(cli(*MEANING, root=root))
    weights = model / "model.safetensors"
    flip(weights, weights.stat().st_size - 700)
    assert hits(cli(*MEANING)) != []
    assert cli("index", "verify").code == 0
    flip(weights, weights.stat().st_size - 700)
    assert hits(cli(*MEANING)) == before


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_model_that_cannot_be_read_is_said_once(file: str, root: Path, model: Path, cli: Cli) -> None:
    words = hits(cli(*WORDS, root=root))
    flip(model / file, 0)
    ran = cli("search", "use grpc for ids", "--json")
    assert hits(ran) == words
    assert ran.err.startswith("searched by words alone: ")
    assert f"{model}/{file}: " in ran.err
    assert ran.err.count("\n") == 1
    refused = cli(*MEANING)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    (found,) = [f for f in cli("doctor", "--json").json if f["subject"] == "model"]
    assert (found["good"], found["advice"]) == (False, "fetch it again")


def test_another_file_under_the_default_models_name_is_refused(
    root: Path, model: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = root / "forgekit.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(f'"{model}"', '""'), encoding="utf-8")
    hub = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (hub / "refs").mkdir(parents=True)
    (hub / "refs" / "main").write_text("a" * 40, encoding="ascii")
    folder = write_model(hub / "snapshots" / ("a" * 40))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    ran = cli("search", "use grpc for ids", "--json", root=root)
    assert hits(ran) == hits(cli(*WORDS))
    assert ran.err == (
        f"searched by words alone: {folder}/model.safetensors is not the published file of "
        "sentence-transformers/all-MiniLM-L6-v2: its SHA-256 differs; "
        f"fetch it again: {INSTALL}\n"
    )
