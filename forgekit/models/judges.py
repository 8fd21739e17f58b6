"""Conflict judges beside the rules, and the choice among them by a registry's settings.

A registry's files may have been written by anybody. So a setting alone sends nothing off this machine: the
person who runs the command names the host in `FORGEKIT_JUDGE_HOST`, and keeps the key in
`FORGEKIT_JUDGE_KEY`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forgekit.errors import FormatError, UsageError
from forgekit.model.problem import Problem
from forgekit.model.settings import SETTINGS_FILE, JudgeKind, Settings

if TYPE_CHECKING:
    from forgekit.conflict.rules.port import Judge, Judgement, Statement

KEY, HOST = "FORGEKIT_JUDGE_KEY", "FORGEKIT_JUDGE_HOST"


class CachingJudge:
    """A judge that is asked about a pair once; for judges whose answers are slow or cost something."""

    def __init__(self, judge: Judge) -> None:
        self.asked = judge
        self._known: dict[tuple[Statement, Statement], Judgement] = {}

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair; arguments as of `Judge`."""
        new = {
            sides: cosine for sides, cosine in zip(pairs, similarity, strict=True) if sides not in self._known
        }
        self._known.update(zip(new, self.asked.judge([*new], [*new.values()]), strict=True))
        return [self._known[sides] for sides in pairs]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong since it was made."""
        return problems_of(self.asked)


def judge_of(settings: Settings, cache: Path, env: Mapping[str, str] = os.environ) -> Judge:
    """Return the judge that a registry's settings name; it loads and asks nothing before it judges.

    Args:
        settings: `judge` names the kind; those of other makers need a `judge_model`, a language model a
            `judge_url`.
        cache: the folder that remembers which files were hashed.
        env: where the key is, and the host that a person agrees to.

    Raises FormatError for settings that name no usable judge, UsageError for a key that is none.
    """
    if settings.judge is JudgeKind.RULES:
        from forgekit.conflict.rules.rules import RuleJudge

        return RuleJudge()
    if settings.judge is JudgeKind.TRAINED:
        from forgekit.models.trained_judge import TrainedJudge

        return TrainedJudge(cache)
    if settings.judge_model is None:
        raise _unfit("judge_model", f'is empty, and `judge` is "{settings.judge.value}"; name a model')
    if settings.judge is JudgeKind.NLI:
        from forgekit.models.nli import NliJudge

        return CachingJudge(NliJudge(settings.judge_model))
    from forgekit.models.llm import LlmJudge

    url, key = _allowed(settings.judge_url, env)
    return CachingJudge(
        LlmJudge(url=url, model=settings.judge_model, seconds=settings.judge_timeout, key=key)
    )


def problems_of(judge: Judge) -> tuple[Problem, ...]:
    """Return what went wrong since a judge was made, such as pairs that the rules had to judge instead."""
    problems: tuple[Problem, ...] = getattr(judge, "problems", ())
    return problems


def calibration_of(judge: Judge) -> tuple[float, float] | None:
    """Return a judge's threshold and the precision that it expects of it; None where it promises none."""
    promise: tuple[float, float] | None = getattr(judge, "promise", None)
    return promise


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveJudge:
    """Which judge judges.

    Attributes:
        kind: not the one of the settings where that one cannot be had.
        why: what is wrong with that one, and what to do, each "" where nothing is.
        damaged: whether files are there that must not be used.
    """

    kind: JudgeKind
    why: str = ""
    advice: str = ""
    damaged: bool = False
    promise: tuple[float, float] | None = None


def active_judge(settings: Settings, cache: Path) -> ActiveJudge:
    """Say which judge judges; arguments as of `judge_of`."""
    if settings.judge is not JudgeKind.TRAINED:
        return ActiveJudge(kind=settings.judge)
    from forgekit.models.judge_files import JudgeFiles, Refused, find_judge

    found = find_judge(cache)
    if isinstance(found, JudgeFiles):
        card = found.card
        return ActiveJudge(kind=JudgeKind.TRAINED, promise=(card.threshold, card.expected_precision))
    return ActiveJudge(
        kind=JudgeKind.RULES, why=found.reason, advice=found.hint, damaged=isinstance(found, Refused)
    )


def _allowed(url: str | None, env: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the address and the key, where the person at the keyboard agrees to both."""
    if url is None:
        raise _unfit(
            "judge_url",
            'is empty, and `judge` is "llm"; name the server, such as http://127.0.0.1:11434 for Ollama',
        )
    parts, key = urlsplit(url), env.get(KEY) or None
    host = parts.hostname or ""
    if key and not re.fullmatch(r"[!-~]{1,4096}", key):
        raise UsageError(f"{KEY} must be printable ASCII without blanks")
    if _on_this_machine(host):
        return url, key
    if env.get(HOST, "").lower() != host:
        raise _unfit(
            "judge_url",
            f"would send decisions to {host}; where you agree, set {HOST}={host} in your environment",
        )
    if key and parts.scheme != "https":
        raise _unfit("judge_url", f"must begin with https:// where {KEY} is set")
    return url, key


def _on_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unfit(field: str, message: str) -> FormatError:
    return FormatError(message, path=SETTINGS_FILE, field=field)
