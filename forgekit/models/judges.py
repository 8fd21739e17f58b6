"""The choice of a judge by a registry's settings.

Anybody may have written a registry's settings, so a setting alone sends nothing off this machine: the person
who runs the command names the host in `FORGEKIT_JUDGE_HOST`, and keeps the key in `FORGEKIT_JUDGE_KEY`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forgekit.model.settings import SETTINGS_FILE, JudgeKind, Settings
from forgekit.models.encoder import Missing

if TYPE_CHECKING:
    from forgekit.conflict.judge import Judge

KEY, HOST = "FORGEKIT_JUDGE_KEY", "FORGEKIT_JUDGE_HOST"


def find_judge(settings: Settings, cache: Path, env: Mapping[str, str] = os.environ) -> Judge | Missing:
    """Return the judge that a registry's settings name; it loads and asks nothing before it judges.

    Args:
        settings: `judge` names the kind; a language model needs a `judge_model` and a `judge_url`.
        cache: the folder that remembers which files were hashed.
        env: where the key is, and the host that a person agrees to.
    """
    if settings.judge is JudgeKind.OFF:
        return Missing(reason='`judge` is "off"', hint=f'set it to "trained" in {SETTINGS_FILE}')
    if settings.judge is JudgeKind.TRAINED:
        from forgekit.models.trained_judge import find_trained_judge

        return find_trained_judge(cache)
    if settings.judge_model is None:
        return Missing(reason='`judge` is "llm" and `judge_model` is empty', hint="name a model")
    if settings.judge_url is None:
        reason, hint = '`judge` is "llm" and `judge_url` is empty', "name the server"
        return Missing(reason=reason, hint=f"{hint}, such as http://127.0.0.1:11434 for Ollama")
    key = env.get(KEY) or None
    if refused := _refused(settings.judge_url, key, env):
        return refused
    from forgekit.models.llm import LlmJudge

    return LlmJudge(
        url=settings.judge_url, model=settings.judge_model, seconds=settings.judge_timeout, key=key
    )


def _refused(url: str, key: str | None, env: Mapping[str, str]) -> Missing | None:
    """Return why nothing is sent to an address, or None where the person who runs the command agrees."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if key and not re.fullmatch(r"[!-~]{1,4096}", key):
        return Missing(reason=f"{KEY} is no usable key", hint="it must be printable ASCII without blanks")
    if _on_this_machine(host):
        return None
    if env.get(HOST, "").lower() != host:
        reason = f"`judge_url` would send decisions to {host}"
        return Missing(reason=reason, hint=f"if you agree, set {HOST}={host} in your environment")
    if key and parts.scheme != "https":
        return Missing(reason=f"{KEY} would be sent unencrypted", hint="let `judge_url` begin with https://")
    return None


def _on_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
