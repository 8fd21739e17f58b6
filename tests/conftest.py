"""Every test is cut off from the developer's git settings, home and hooks' environment."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from guarantees import Level, Report, table
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forgekit.index.catalogue import Catalogue

# The same examples in every run: a run that fails can be repeated. A machine under load is no failure.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")

# libgit2 looks for the home folder once, when it is first imported: so this comes before any test is.
_HOME = tempfile.mkdtemp(prefix="forgekit-home-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
_IDENTITY = "[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
Path(_HOME, ".gitconfig").write_text(_IDENTITY, encoding="utf-8")
os.environ.update({"HOME": _HOME, "XDG_CONFIG_HOME": _HOME, "XDG_DATA_HOME": _HOME})
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
    monkeypatch.setenv("XDG_DATA_HOME", _HOME)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(autouse=True)
def _no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge nothing: a test that wants a judge sets one."""
    monkeypatch.setattr("forgekit.models.trained_judge.FOLDER", Path(_HOME) / "no-judge")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return the root of a fresh registry with one commit."""
    from repositories import new_repository

    return new_repository(tmp_path / "repo")


@pytest.fixture
def catalogue(root: Path, tmp_path: Path) -> Iterator[Catalogue]:
    """Look at the files below a test's own `root`."""
    from forgekit.index.catalogue import Catalogue

    found = Catalogue(root, tmp_path / "cache")
    found.refresh()
    yield found
    found.close()


_REACHED: pytest.StashKey[list[tuple[str, str, str]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what says how far the tests of the guarantees go."""
    group = parser.getgroup("guarantees")
    group.addoption("--soak", action="store_true", help="only what shows a guarantee, at the nightly figures")
    group.addoption("--seed", type=int, help="where random examples start; a run prints its own")
    group.addoption("--minutes", type=float, default=3.0, help="how long the soak itself takes")


def pytest_configure(config: pytest.Config) -> None:
    """Make the list of what this run reaches, and fix its seed."""
    config.stash[_REACHED] = []
    if config.option.seed is None:
        config.option.seed = secrets.randbelow(10**6) if config.option.soak else 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the other tests out of a soak."""
    if config.option.soak:
        other = [i for i in items if not {"level", "guarantee"} & set(getattr(i, "fixturenames", ()))]
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in set(other)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was reached."""
    reached = config.stash[_REACHED]
    if reached:
        terminalreporter.section("guarantees")
        for line in table(reached, _level(config)):
            terminalreporter.write_line(line)


def _level(config: pytest.Config) -> Level:
    option = config.option
    return Level(soak=option.soak, seed=option.seed, minutes=option.minutes)


@pytest.fixture(scope="session")
def level(pytestconfig: pytest.Config) -> Level:
    """Say how much a test of a guarantee is to try."""
    return _level(pytestconfig)


@pytest.fixture(scope="session")
def guarantee(pytestconfig: pytest.Config) -> Report:
    """Take down what a test reached: `guarantee("G5", "concurrent writers", "200 of 200 at the tip")`."""
    reached = pytestconfig.stash[_REACHED]
    return lambda number, text, figure: reached.append((number, text, figure))
