"""One sound registry for all tests here; each works on a copy."""

from __future__ import annotations

from pathlib import Path

import hostile_registry
import pytest
from cli_runner import Cli, runner

NOW = "2026-04-01T12:00:00Z"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer alike whether or not the package with the embedding model is installed."""
    monkeypatch.setattr("forgekit.models.encoder._in_package", lambda: None)
    monkeypatch.setenv("FORGEKIT_NOW", NOW)
    monkeypatch.setenv("CI", "1")


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the registry that nobody touches."""
    return hostile_registry.build(tmp_path_factory.mktemp("base") / "registry")


@pytest.fixture
def copied(base: Path, tmp_path: Path) -> Path:
    """Return a copy of the registry."""
    return hostile_registry.copy(base, tmp_path / "registry")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Run a command line in this process: `cli("status", root=folder, stdin=b"...")`."""

    def said() -> tuple[str, str]:
        out, err = capsysbinary.readouterr()
        return out.decode(), err.decode()

    return runner(monkeypatch, said)
