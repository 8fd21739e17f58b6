"""A language model behind an address: Ollama, or any server of OpenAI's chat completions.

A question goes out without secrets, with the schema of its answer. An answer counts only if its reader takes
it; the model gets one more try, with what is wrong. A model that stays silent is not asked for ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from math import inf
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

from forgekit.errors import ForgeError
from forgekit.model.problem import Problem, Severity
from forgekit.model.settings import SETTINGS_FILE
from forgekit.text.secrets import redact

REPLY_LIMIT = 1_000_000
"""Bytes of an answer that are read."""
GIVE_UP = 2
"""Requests in a row without an answer, after which no more are sent."""
QUOTED = 1_000
"""Characters of an unusable answer that the model is shown again."""
CONTEXT = 16_384
"""Tokens that Ollama shall read; without a number it cuts long questions in silence."""

Schema = Mapping[str, Any]
T = TypeVar("T")

_HINTS = {
    401: "; put a key that is valid into FORGEKIT_JUDGE_KEY",
    403: "; put a key that is valid into FORGEKIT_JUDGE_KEY",
    404: "; look at `judge_url` and `judge_model`",
}


class NoAnswerError(ForgeError):
    """The server gave no answer: it cannot be reached, is late, or sends too much."""


class UnusableError(ForgeError):
    """The server answered, and the answer cannot be believed."""


class Chat:
    """Asks a language model and counts what stayed without an answer.

    Args:
        url: without a path that of Ollama, with one (`https://host/v1`) what `/chat/completions` follows.
        model: as the server calls it.
        seconds: for one answer.
        key: for the server; it appears in no error.

    Attributes:
        asked: questions so far.
        failed: how many had no usable answer, by the reason.
        why: the last reason.
    """

    def __init__(self, *, url: str, model: str, seconds: float, key: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._host = urlsplit(url).netloc
        self.model = model
        self.seconds = seconds
        self._key = key
        self._all, self._until = inf, inf
        self._silent = 0  # requests without an answer since the last one that had one
        self.why = ""
        self.asked = 0
        self.failed = Counter[str]()

    def version(self, system: str) -> str:
        """Return a hash of what an answer to a question under these instructions depends on."""
        return hashlib.sha256(f"{self._url}\n{self.model}\n{system}".encode()).hexdigest()[:12]

    def limit(self, seconds: float) -> None:
        """Give all questions from now on so many seconds together."""
        self._all, self._until = seconds, time.monotonic() + seconds

    def answer(self, system: str, question: str, schema: Schema, read: Callable[[str], T]) -> T | None:
        """Return what `read` makes of the model's answer, None where it gave none that can be used.

        Args:
            read: takes the answer, raises ValueError with what is wrong, without repeating anything of it.
        """
        self.asked += 1
        if self._silent < GIVE_UP:
            try:
                found = self._ask(system, redact(question).text, schema, read)
            except (NoAnswerError, UnusableError) as e:
                self._silent = self._silent + 1 if isinstance(e, NoAnswerError) else 0
                self.why = str(e)
            else:
                self._silent = 0
                return found
        self.failed[self.why] += 1
        return None

    def problems(self, code: str, setting: str, left: str, fix: str = "") -> tuple[Problem, ...]:
        """Return a warning of what has no usable answer; `left` names what, and what became of it."""
        if not self.failed:
            return ()
        message = f"{self.failed.total()} of {self.asked} {left}: {'; '.join(self.failed)}"
        warning = Problem(code=code, path=SETTINGS_FILE, field=setting, message=message, fix=fix)
        return (replace(warning, severity=Severity.WARNING),)

    def _ask(self, system: str, question: str, schema: Schema, read: Callable[[str], T]) -> T:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        for _ in range(2):
            content = self._complete(messages, schema)
            try:
                return read(content)
            except ValueError as e:
                why = str(e)
            again = f"That answer cannot be used: {why}. Answer with one JSON object by the schema."
            messages += [
                {"role": "assistant", "content": content[:QUOTED]},
                {"role": "user", "content": again},
            ]
        raise UnusableError(f"the answer of {self.model} cannot be used: {why}")

    def _complete(self, messages: list[dict[str, str]], schema: Schema) -> str:
        asked: dict[str, Any] = {"model": self.model, "messages": messages, "stream": False}
        if not urlsplit(self._url).path:
            options = {"temperature": 0, "seed": 0, "num_ctx": CONTEXT}
            reply = self._post("/api/chat", asked | {"format": schema, "options": options})
            return self._text(reply, "message", "content")
        reply = self._post("/chat/completions", asked | {"temperature": 0}, plain=asked)
        return self._text(reply, "choices", 0, "message", "content")

    def _post(self, path: str, payload: object, plain: object = None) -> object:
        """Send a request; `plain` is sent where the server refuses an option of the first one."""
        seconds = min(self.seconds, self._until - time.monotonic())
        if seconds <= 0:
            raise NoAnswerError(f"{self._host} took more than {self._all:.0f} seconds in all")
        status, body = post(self._url + path, payload, key=self._key, seconds=seconds)
        if status in {400, 422} and plain is not None:
            return self._post(path, plain)
        if 300 <= status < 400:
            raise NoAnswerError(f"{self._host} points elsewhere, and redirects are not followed")
        if status != 200:
            raise NoAnswerError(f"{self._host} answered with status {status}{_HINTS.get(status, '')}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise UnusableError(f"{self._host} answered with no JSON") from None

    def _text(self, reply: Any, *steps: str | int) -> str:
        try:
            for step in steps:
                reply = reply[step]
        except (LookupError, TypeError):
            reply = None
        if not isinstance(reply, str):
            raise UnusableError(f"{self._host} answered without a message")
        return reply


def post(url: str, payload: object, *, key: str | None, seconds: float) -> tuple[int, bytes]:
    """Send JSON, and return the status and the body.

    Args:
        url: http or https.
        key: sent as a bearer token; printable ASCII.
        seconds: for all of it, however slowly the server trickles.

    Raises NoAnswerError.
    """
    host = urlsplit(url).netloc
    found: list[tuple[int, bytes] | Exception] = []

    def ask() -> None:
        try:
            found.append(_posted(url, json.dumps(payload).encode(), key, seconds))
        except (OSError, HTTPException, ValueError) as e:
            found.append(e)

    # A time-out of the socket begins again with each byte; that of the thread does not.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    reply = found[0] if found else TimeoutError()
    if isinstance(reply, TimeoutError):
        raise NoAnswerError(f"{host} did not answer within {seconds:.3g} seconds")
    if isinstance(reply, Exception):
        why = reply.strerror if isinstance(reply, OSError) else None
        raise NoAnswerError(f"{host} cannot be reached: {why or type(reply).__name__}")
    if len(reply[1]) > REPLY_LIMIT:
        raise NoAnswerError(f"{host} answered with more than {REPLY_LIMIT:,} bytes")
    return reply


def _posted(url: str, body: bytes, key: str | None, seconds: float) -> tuple[int, bytes]:
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    with contextlib.closing(kind(parts.hostname or "", parts.port, timeout=seconds)) as connection:
        connection.request("POST", parts.path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read(REPLY_LIMIT + 1)


def object_of(properties: Schema) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def is_share(value: object) -> bool:
    """Say whether a value of an answer is a number from 0 to 1."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def fenced(data: object) -> str:
    """Return data as a fenced JSON object that no text in it can close."""
    return "```json\n" + json.dumps(data, ensure_ascii=False, indent=1).replace("`", "\\u0060") + "\n```"


def visible(text: str) -> str:
    """Return a text without characters that only a machine sees: tags, overrides, private use."""
    return "".join(c for c in text if unicodedata.category(c) not in {"Cf", "Cn", "Co", "Cs"})


def read_object(content: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one JSON object that an answer holds; raises ValueError where its keys are others."""
    inner = content[content.find("{") : content.rfind("}") + 1]
    try:
        data: dict[str, Any] = json.loads(inner, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise ValueError("it is not one JSON object") from None
    if set(data) != set(keys):
        *some, last = keys
        raise ValueError(f"its keys must be {' and '.join(filter(None, (', '.join(some), last)))}")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)
