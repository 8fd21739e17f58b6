"""Every test is cut off from the developer's git settings, home and hooks' environment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a run that fails can be repeated. A machine under load is no failure.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")

# libgit2 looks for the home folder once, when it is first imported: so this comes before any test is.
_HOME = tempfile.mkdtemp(prefix="forgekit-home-")
_IDENTITY = "[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
Path(_HOME, ".gitconfig").write_text(_IDENTITY, encoding="utf-8")
os.environ.update({"HOME": _HOME, "XDG_CONFIG_HOME": _HOME})
for _name in [name for name in os.environ if name.startswith(("GIT_", "FORGEKIT_"))]:
    del os.environ[_name]
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test from the same environment, whatever the one before has set."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "FORGEKIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", _HOME)
    monkeypatch.setenv("XDG_CONFIG_HOME", _HOME)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return the root of a fresh registry with one commit."""
    from support import new_repository

    return new_repository(tmp_path / "repo")
