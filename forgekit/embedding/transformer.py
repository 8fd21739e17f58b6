"""Any model that sentence-transformers can load, behind the same port (extra `models`).

For models outside the BERT family, and as the reference that the NumPy forward pass is tested against.
Loading torch takes seconds: only encoding does so. Nothing is downloaded, no code
that comes with a model is run, and weights are read as safetensors only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.embedding.files import file_sha256, read_header, read_prompts
from forgekit.errors import FormatError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PARTS = frozenset({".json", ".model", ".safetensors", ".txt"})
_OTHER_FORMATS = frozenset({"onnx", "openvino"})
_PARTS_LIMIT = 200


class SentenceTransformerEncoder:
    """A model in a local folder.

    Args:
        folder: in the layout of sentence-transformers or transformers.
        name: what people call it.
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
        text = json.dumps([version("sentence-transformers"), self._prompts, hashes])
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def dimension(self) -> int:
        """Numbers per vector; asking loads the model."""
        return int(self._loaded.get_embedding_dimension())

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of what people ask, unit length, [len(texts), dimension]."""
        return self._encode(texts, self._prompts[0])

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of what is searched, unit length, [len(texts), dimension]."""
        return self._encode(texts, self._prompts[1])

    def _encode(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        found: NDArray[np.float32] = self._loaded.encode(
            clean, prompt=prompt, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return found.reshape(len(texts), self.dimension)

    @cached_property
    def _loaded(self) -> Any:
        import sentence_transformers  # noqa: PLC0415 - five seconds that only encoding needs
        import transformers  # noqa: PLC0415 - it comes with the other

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
