"""The hooks of coding agents: which agent calls what, how it writes its input and how it reads an answer.

An agent runs `forgekit hook AGENT EVENT` with one JSON object on standard input. What a hook prints becomes
part of the agent's context. A hook fails open: whatever is wrong, it prints nothing, its exit status is 0,
and a line in the registry's log says why.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from enum import Enum, auto
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.console import one_line, verbatim
from forgekit.errors import NoRegistryError

if TYPE_CHECKING:
    from forgekit.forge import Forge

MOST_READ = 1_000_000
"""Bytes of standard input that are read."""
LOG_SIZE = 100_000
"""Bytes of the log, after which nothing is added."""


class HookEvent(Enum):
    """What happens in any agent."""

    START = auto()
    PROMPT = auto()
    EDIT = auto()  # before a tool is used
    COMPACT = auto()  # before the context is compacted
    COMPACTED = auto()
    TURN_END = auto()
    END = auto()


HANDLERS = {
    HookEvent.START: ("notices:at_start", "compactions:after"),
    HookEvent.PROMPT: ("notices:at_prompt",),
    HookEvent.EDIT: ("notices:at_edit",),
    HookEvent.COMPACT: ("transcript_queue:add", "compactions:before"),
    HookEvent.COMPACTED: ("transcript_queue:add",),
    HookEvent.TURN_END: ("notices:at_turn_end", "compactions:at_turn_end"),
    HookEvent.END: ("transcript_queue:add", "compactions:at_end"),
}
"""What is called at an event: it is imported then, so that another event costs little."""
ANYWHERE = "compactions:"
"""What is called outside a registry too."""
INGEST = "ingest-queued"
"""The event by which forgekit's own process, started by a hook, files what is queued."""


class Form(Enum):
    """How an agent reads what a hook prints."""

    TEXT = auto()  # text at the start and after a prompt, else Claude Code's JSON
    JSON = auto()  # Claude Code's JSON at any event
    CURSOR = auto()  # always JSON, with the text as `additional_context`


class HookInput(NamedTuple):
    """The input of a hook.

    Attributes:
        session: the agent's id of the session, "" where it named none.
        folder: where the agent works.
        transcripts: the format of its transcripts that `ingest` reads, "" where none is known.
        home: the folder that its transcripts are in.
    """

    agent: str
    session: str
    folder: Path
    data: Mapping[str, Any]
    prompt: str = ""
    transcripts: str = ""
    home: Path = Path()


class Agent(NamedTuple):
    """One coding agent.

    Attributes:
        events: by the agent's own names.
        transcripts: the format that `ingest` reads, "" where none is known.
        home: the folder below the user's home that its settings and transcripts are in.
        moved: the variable of the environment that names another folder for them.
        session, folder, prompt: the keys of its input; of a list the first value counts.
    """

    events: Mapping[str, HookEvent]
    form: Form
    transcripts: str = ""
    home: str = ""
    moved: str = ""
    session: str = "session_id"
    folder: str = "cwd"
    prompt: str = "prompt"


_CLAUDE = {
    "SessionStart": HookEvent.START,
    "UserPromptSubmit": HookEvent.PROMPT,
    "PreToolUse": HookEvent.EDIT,
    "PreCompact": HookEvent.COMPACT,
    "PostCompact": HookEvent.COMPACTED,
    "Stop": HookEvent.TURN_END,
}
_CAMEL = {
    "sessionStart": HookEvent.START,
    "beforeSubmitPrompt": HookEvent.PROMPT,
    "preToolUse": HookEvent.EDIT,
    "preCompact": HookEvent.COMPACT,
    "stop": HookEvent.TURN_END,
    "sessionEnd": HookEvent.END,
}
_GEMINI = {
    "SessionStart": HookEvent.START,
    "BeforeAgent": HookEvent.PROMPT,
    "PreCompress": HookEvent.COMPACT,
    "SessionEnd": HookEvent.END,
}
AGENTS: Mapping[str, Agent] = {
    "claude-code": Agent(
        {**_CLAUDE, "SessionEnd": HookEvent.END}, Form.TEXT, "claude-code", ".claude", "CLAUDE_CONFIG_DIR"
    ),
    "codex": Agent(_CLAUDE, Form.TEXT, home=".codex", moved="CODEX_HOME"),
    "gemini": Agent(_GEMINI, Form.JSON, home=".gemini"),
    "cursor": Agent(_CAMEL, Form.CURSOR, session="conversation_id", folder="workspace_roots"),
    "copilot": Agent({"sessionStart": HookEvent.START}, Form.JSON, session="sessionId"),
}


def answer(agent: str, event: str, root: str = "") -> int:
    """Read what an agent writes to standard input, print what it reads, and return 0.

    Args:
        root: of the registry, "" for that of the environment or of the agent's folder.
    """
    given = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(MOST_READ + 1)
    verbatim(run(agent, event, given, os.environ | ({"FORGEKIT_ROOT": root} if root else {})))
    return 0


def run(agent: str, event: str, given: bytes, env: Mapping[str, str] = os.environ) -> str:
    """Return what an agent reads at an event, "" where there is nothing to say.

    Args:
        event: by its own name, or as words joined by hyphens; an unknown one is noted in the log.
        env: `FORGEKIT_ROOT` may name the registry.
    """
    known = AGENTS[agent]
    name = next((name for name in known.events if _plain(name) == _plain(event)), "")
    text, folder = "", Path()

    def note(e: Exception) -> None:
        _note(folder, env, f"{agent} {event}: {type(e).__name__}: {e}")

    try:
        folder = Path.cwd()
        data = json.loads(given[:MOST_READ] or (b"{}" if event == INGEST else b"null"))
        if isinstance(data, dict):
            folder = Path(_first(data.get(known.folder)) or folder)
            if event == INGEST:
                _handler("transcript_queue:ingest")(_opened(folder, env))
            elif name:
                text = _handled(known.events[name], _input(agent, folder, data, env), env, note)
            else:
                note(ValueError(f"no event of {agent}; it has {', '.join(known.events)}"))
        else:
            note(ValueError("standard input holds no JSON object"))
    except Exception as e:  # noqa: BLE001 - an agent must go on, whatever happens here
        note(e)
    return _shaped(known.form, name, known.events.get(name), text)


def _handled(
    event: HookEvent, given: HookInput, env: Mapping[str, str], note: Callable[[Exception], None]
) -> str:
    """Return what the handlers of an event return; one that fails stops no other."""
    try:
        forge: Forge | None = _opened(given.folder, env)
    except NoRegistryError:
        forge = None
    texts = []
    for name in HANDLERS[event]:
        if forge is not None or name.startswith(ANYWHERE):
            try:
                texts.append(_handler(name)(forge, given))
            except Exception as e:  # noqa: BLE001 - as above
                note(e)
    return "\n\n".join(filter(None, texts))


def _handler(name: str) -> Any:
    """Return a function of this room; the table of operations, which has such names too, loads slowly."""
    module, _, function = name.partition(":")
    return getattr(import_module(f"forgekit.hooks.{module}"), function)


def _input(agent: str, folder: Path, data: Mapping[str, Any], env: Mapping[str, str]) -> HookInput:
    known = AGENTS[agent]
    return HookInput(
        agent=agent,
        session=_first(data.get(known.session)),
        folder=folder,
        data=data,
        prompt=_first(data.get(known.prompt)),
        transcripts=known.transcripts,
        home=home_of(agent, env),
    )


def home_of(agent: str, env: Mapping[str, str]) -> Path:
    """Return the folder of an agent's settings and transcripts."""
    from forgekit.worktree.roots import agent_folder  # an event without a handler needs none of it

    known = AGENTS[agent]
    return agent_folder(known.home, known.moved, env)


def _shaped(form: Form, name: str, event: HookEvent | None, text: str) -> str:
    if form is Form.CURSOR:
        return _json({"additional_context": text} if text else {})
    if not text or (form is Form.TEXT and event in {HookEvent.START, HookEvent.PROMPT, HookEvent.COMPACT}):
        return text
    if event is HookEvent.TURN_END:
        return _json({"systemMessage": text})
    return _json({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _plain(name: str) -> str:
    return name.replace("-", "").lower()


def _first(value: Any) -> str:
    """Return a text, or the first of a list; "" for anything else."""
    found = value[0] if isinstance(value, list) and value else value
    return found if isinstance(found, str) else ""


def _opened(folder: Path, env: Mapping[str, str]) -> Forge:
    """Return the registry that the environment names, else that of a folder."""
    from forgekit.forge import Forge

    return Forge.open(None if env.get("FORGEKIT_ROOT") else folder, env)


def _note(folder: Path, env: Mapping[str, str], text: str) -> None:
    """Add a line to the log of the registry, if there is one."""
    from forgekit.worktree.roots import hook_log

    try:
        path = hook_log(_opened(folder, env).root)
        with path.open("a", encoding="utf-8") as log:
            if log.tell() < LOG_SIZE:
                log.write(f"{one_line(text)[:500]}\n")
    except Exception:  # noqa: BLE001, S110 - there is nowhere to say it
        pass
