"""A judge by natural language inference: any cross-encoder that tells entailment from contradiction.

Needs the extra `models` and a model that is on this machine already: nothing is downloaded, no code that
comes with a model is run, and weights are read as safetensors only. Loading takes seconds, so only judging
does it. Of a decision the text alone is read, since these models know single sentences.

Contradiction is symmetric and the models are not, so each pair is read in both directions and the mean is
the score: the maximum would let one wrong reading of two raise an alarm. Entailment has a direction: both
ways means the same is said twice, one way means that one side says more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.errors import FormatError
from forgekit.model.rules import one_line
from forgekit.model.settings import SETTINGS_FILE

CONTRADICTION, ENTAILMENT, NEUTRAL = "contradiction", "entailment", "neutral"
HALF = 0.5
NEAR = 0.4  # the cosine from which the judge by rules, too, calls a pair related
LONGEST = 600  # characters of a text; the model cuts at its own number of tokens besides


class NliJudge:
    """A cross-encoder as a judge.

    Args:
        model: a folder (absolute, or beginning with `~`) or a model of the hub's local cache.
        load: makes a cross-encoder of the model's name; it has `config` and `predict`.
    """

    def __init__(self, model: str, load: Callable[[str], Any] | None = None) -> None:
        self._model = model
        self._load = load or load_cross_encoder

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair; the same for (a, b) and (b, a).

        Raises FormatError where the model cannot be used.
        """
        if not pairs:
            return []
        texts = [(_text(a), _text(b)) for a, b in pairs]
        encoder, order = self._loaded
        rows = encoder.predict(
            [*texts, *((b, a) for a, b in texts)], apply_softmax=True, show_progress_bar=False
        )
        shares = [{name: float(row[column]) for name, column in order.items()} for row in rows]
        if not all(0 <= share <= 1 for row in shares for share in row.values()):
            raise FormatError(f"the model {self._model} answers with no probabilities; {_OTHER}", **_PLACE)
        forth, back = shares[: len(pairs)], shares[len(pairs) :]
        return [_judgement(*both) for both in zip(forth, back, similarity, strict=True)]

    @cached_property
    def _loaded(self) -> tuple[Any, dict[str, int]]:
        encoder = self._load(self._model)
        return encoder, label_order(encoder.config.id2label, self._model)


_PLACE: Mapping[str, Any] = {"path": SETTINGS_FILE, "field": "judge_model"}
_OTHER = "name another, such as cross-encoder/nli-deberta-v3-small"


def label_order(labels: Mapping[Any, Any], model: str) -> dict[str, int]:
    """Return the column of each of the three labels; families of models differ in their order.

    Raises FormatError where the model has other labels.
    """
    found = {str(label).casefold(): int(column) for column, label in labels.items()}
    if set(found) != {CONTRADICTION, ENTAILMENT, NEUTRAL} or sorted(found.values()) != [0, 1, 2]:
        names = one_line(", ".join(str(label) for label in labels.values()))[:100]
        raise FormatError(
            f"the model {model} tells apart {names or 'nothing'}, "
            f"and not contradiction, entailment and neutral; {_OTHER}",
            **_PLACE,
        )
    return found


def load_cross_encoder(model: str) -> Any:
    """Load a cross-encoder from this machine.

    Raises FormatError where it, or the library, is not there.
    """
    try:
        import sentence_transformers
        import transformers
    except ImportError:
        raise FormatError(
            'is "nli", and the extra `models` is not installed; pip install "forgekit[models]"',
            path=SETTINGS_FILE,
            field="judge",
        ) from None
    transformers.utils.logging.disable_progress_bar()
    name = str(Path(model).expanduser()) if model.startswith("~") else model
    try:
        return sentence_transformers.CrossEncoder(
            name, local_files_only=True, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, ImportError, KeyError, AttributeError, RuntimeError) as e:
        why = one_line(str(e))[:200]
        raise FormatError(
            f"the cross-encoder {model} cannot be loaded from this machine ({why}); "
            f"a model of the hub is fetched with: hf download {model}",
            **_PLACE,
        ) from None


def _text(statement: Statement) -> str:
    clean = statement.text.encode("utf-8", "replace").decode()
    return one_line(clean[:LONGEST])


def _judgement(forth: Mapping[str, float], back: Mapping[str, float], similarity: float | None) -> Judgement:
    score = (forth[CONTRADICTION] + back[CONTRADICTION]) / 2
    entailed = sorted((forth[ENTAILMENT], back[ENTAILMENT]))
    if score >= HALF:
        verdict, reason = Verdict.CONTRADICTION, f"the model reads a contradiction, p={score:.2f}"
    elif entailed[0] >= HALF:
        verdict, reason = Verdict.DUPLICATE, f"each follows from the other, p={entailed[0]:.2f}"
    elif entailed[1] >= HALF:
        verdict, reason = Verdict.REFINEMENT, f"one follows from the other, p={entailed[1]:.2f}"
    else:
        near = similarity is not None and similarity >= NEAR
        verdict = Verdict.RELATED if near else Verdict.UNRELATED
        reason = "neither follows from nor contradicts the other"
    return Judgement(verdict=verdict, score=score, reasons=(reason,))
