"""The judge and the reader that a registry's settings choose.

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

from forgekit.model.settings import SETTINGS_FILE, ModelKind, Settings
from forgekit.models.encoder import Missing

if TYPE_CHECKING:
    from forgekit.conflict.judge import Judge
    from forgekit.extraction.statements import StatementReader
    from forgekit.models.chat import Chat
    from forgekit.models.encoder import Encoder
    from forgekit.models.essences import Distiller

KEY, HOST = "FORGEKIT_JUDGE_KEY", "FORGEKIT_JUDGE_HOST"


def find_judge(settings: Settings, cache: Path, env: Mapping[str, str] = os.environ) -> Judge | Missing:
    """Return the judge that a registry's settings name; it loads and asks nothing before it judges.

    Args:
        settings: `judge` names the kind; a language model needs a `judge_model` and a `judge_url`.
        cache: the folder that remembers which files were hashed.
        env: where the key is, and the host that a person agrees to.
    """
    chat = _chat(settings, "judge", "decisions", env)
    if isinstance(chat, Missing):
        return chat
    if chat is None:
        from forgekit.models.trained_judge import find_trained_judge

        return find_trained_judge(cache)
    from forgekit.models.llm_judge import LlmJudge

    return LlmJudge(chat)


def find_reader(
    settings: Settings, cache: Path, env: Mapping[str, str] = os.environ
) -> StatementReader | Missing:
    """Return the reader of conversations that a registry's settings name; arguments as of `find_judge`."""
    chat = _chat(settings, "reader", "conversations", env)
    if isinstance(chat, Missing):
        return chat
    if chat is None:
        from forgekit.models.statement_reader import find_statement_reader

        return find_statement_reader(cache)
    from forgekit.models.llm_reader import LlmReader

    return LlmReader(chat)


def find_distiller(
    settings: Settings, encoder: Encoder | Missing, env: Mapping[str, str] = os.environ
) -> Distiller | Missing:
    """Return who makes essences, as a registry's settings say; arguments as of `find_judge`."""
    from forgekit.models.essences import ExtractiveDistiller, LlmDistiller

    chat = _chat(settings, "essences", "notes", env)
    if chat is None:
        return encoder if isinstance(encoder, Missing) else ExtractiveDistiller(encoder)
    return chat if isinstance(chat, Missing) else LlmDistiller(chat)


def _chat(settings: Settings, name: str, sent: str, env: Mapping[str, str]) -> Chat | Missing | None:
    """Return the language model of a setting, or why there is none; None for the trained model."""
    chosen = getattr(settings, name)
    if chosen is ModelKind.TRAINED:
        return None
    if chosen is ModelKind.OFF:
        return Missing(reason=f'`{name}` is "off"', hint=f'set it to "trained" in {SETTINGS_FILE}')
    if settings.judge_model is None:
        return Missing(reason=f'`{name}` is "llm" and `judge_model` is empty', hint="name a model")
    if settings.judge_url is None:
        reason, hint = f'`{name}` is "llm" and `judge_url` is empty', "name the server"
        return Missing(reason=reason, hint=f"{hint}, such as http://127.0.0.1:11434 for Ollama")
    key = env.get(KEY) or None
    if refused := _refused(settings.judge_url, key, sent, env):
        return refused
    from forgekit.models.chat import Chat

    return Chat(url=settings.judge_url, model=settings.judge_model, seconds=settings.judge_timeout, key=key)


def _refused(url: str, key: str | None, sent: str, env: Mapping[str, str]) -> Missing | None:
    """Return why nothing is sent to an address, or None where the person who runs the command agrees."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if key and not re.fullmatch(r"[!-~]{1,4096}", key):
        return Missing(reason=f"{KEY} is no usable key", hint="it must be printable ASCII without blanks")
    if _on_this_machine(host):
        return None
    if env.get(HOST, "").lower() != host:
        reason = f"`judge_url` would send {sent} to {host}"
        return Missing(reason=reason, hint=f"if you agree, set {HOST}={host} in your environment")
    if key and parts.scheme != "https":
        return Missing(reason=f"{KEY} would be sent unencrypted", hint="let `judge_url` begin with https://")
    return None


def _on_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
