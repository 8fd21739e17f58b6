"""The command line, run in this process as a shell would run it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from clirun import Cli, Ran

NOW = "2026-04-01T12:00:00Z"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer alike whether or not the package with the embedding model is installed."""
    monkeypatch.setattr("forgekit.embedding.encoder._in_package", lambda: None)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line: `cli("status", root=folder, stdin=b"...")`."""
    from forgekit.cli.main import main

    monkeypatch.setenv("FORGEKIT_NOW", NOW)
    monkeypatch.setenv("CI", "1")

    def run(*arguments: str, root: Path | None = None, stdin: bytes = b"") -> Ran:
        if root is not None:
            monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return Ran.of(code, out, err)

    return run


@pytest.fixture
def registry(tmp_path: Path, cli: Cli) -> Path:
    """Return the root of a fresh registry, which is the working directory too."""
    root = tmp_path / "registry"
    assert cli("init", str(root)).code == 0
    cli("--version", root=root)
    return root
