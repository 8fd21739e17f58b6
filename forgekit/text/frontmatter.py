"""Front matter: the YAML between two `---` lines, read strictly.

What YAML allows and a registry does not: tags, anchors, aliases, duplicate keys, deep nesting, keys
that are not plain text. Every scalar stays text; the schema converts it, so that the title `no` stays
a word and a date is never guessed. Limits are checked before the parser builds anything, because the
C parser's own recursion ends the process at some tens of thousands of brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler

from forgekit.errors import FormatError
from forgekit.model.fields import Null
from forgekit.model.kinds import ENTITY_LIMIT
from forgekit.model.rules import MERGE_MARKER

FRONT_MATTER_LIMIT = 1_000_000  # an archive's has a line for each of its records
ARCHIVE_LIMIT = ENTITY_LIMIT - FRONT_MATTER_LIMIT
NESTING_LIMIT = 32
_HALF = "holds half of a surrogate pair, which no file can"

Fields = dict[str, Any]
"""Keys to text, lists and mappings of text."""

LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"^[^\s#:\-\[\]{}\"'][^:\n]{0,60}:(?=\s|$)", re.MULTILINE)
_NOT_YAML = "front matter is not YAML"
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")


def decode(data: bytes, limit: int = ENTITY_LIMIT) -> str:
    """Return the bytes of a file as text.

    Raises FormatError for what is too large, not UTF-8, or holds NUL.
    """
    if len(data) > limit:
        raise FormatError(f"is {len(data):,} bytes long; at most {limit:,} are read")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise FormatError("is not UTF-8 text; save it as UTF-8", line=line) from None
    if "\x00" in text:
        raise FormatError("holds a NUL byte", line=text.count("\n", 0, text.index("\x00")) + 1)
    return text


def conflict_marker(text: str) -> int | None:
    """Return the line of the first merge-conflict marker, or None; a lone `=======` is no marker."""
    match = MERGE_MARKER.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def bounds(text: str) -> tuple[int, int, int]:
    """Return where front matter begins, where it ends, and where the rest begins.

    Raises FormatError when there are no two fences.
    """
    opening = _OPENING.match(text)
    if opening is None:
        raise FormatError("must begin with a line of three dashes", line=1)
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise FormatError("front matter is not closed by a line of three dashes", line=1)
    return opening.end(), closing.start(), closing.end()


def split(text: str) -> tuple[str, str]:
    """Return front matter and the rest, each as written; the fences belong to neither.

    Raises FormatError when there are no two fences.
    """
    start, end, rest = bounds(text)
    return text[start:end], text[rest:]


class StrictHandler(BaseHandler):
    """Lets python-frontmatter split and read by the rules of this module."""

    FM_BOUNDARY = _CLOSING
    START_DELIMITER = END_DELIMITER = "---"

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}

    def split(self, text: str) -> tuple[str, str]:
        """Return front matter and body."""
        return split(text)

    def load(self, fm: str, **_: object) -> Fields:
        """Read front matter into text, lists and mappings."""
        fields, self.lines = load_fields(fm)
        return fields


def read(text: str) -> tuple[Fields, dict[str, int], str]:
    """Read a whole entity file.

    Returns its fields, the 1-based line of each key, and the body: LF, no blank lines at either end.
    Raises FormatError with the line at fault.
    """
    marker = conflict_marker(text)
    if marker:
        raise FormatError("merge-conflict marker; choose a side and remove the markers", line=marker)
    plain = text.replace("\r\n", "\n")
    # python-frontmatter takes a missing fence for an empty head, and strips blanks that indent code.
    _, body = split(plain)
    handler = StrictHandler()
    fields, _ = frontmatter.parse(plain, handler=handler)
    return fields, handler.lines, body.replace("\r", "\n").strip("\n")


class Unread(NamedTuple):
    """A key of front matter that cannot be read: its lines behind the colon, and why."""

    key: str
    text: str
    why: str


def read_each(text: str) -> tuple[Fields, list[Unread], str]:
    """Read a text that another program wrote, key by key: what cannot be read hides nothing else.

    Returns the fields, the keys that cannot be read, and the body as it is written. Of two with one key, the
    first is read. Raises FormatError where front matter does not begin with a key.
    """
    head, body = split(text.replace("\r\n", "\n"))
    starts = [match.start() for match in _KEY.finditer(head)]
    if not starts or any(line and line[0] != "#" for line in head[: starts[0]].split("\n")):
        raise FormatError("front matter must be a list of `key: value` lines", line=2)
    fields: Fields = {}
    unread: list[Unread] = []
    for start, end in pairwise([*starts, len(head)]):
        key, _, value = head[start:end].partition(":")
        try:
            found, _ = load_fields(head[start:end])
            twice = not fields.keys().isdisjoint(found)
            fields = {**found, **fields}
            why = "is given twice" if twice else ""
        except FormatError as e:
            why = e.message.removeprefix(f"{_NOT_YAML}: ")
        if why:
            unread.append(Unread(key, value.strip(), why))
    return fields, unread, body


def load_fields(head: str) -> tuple[Fields, dict[str, int]]:
    """Read front matter into text, lists and mappings, and the 1-based file line of each key.

    Raises FormatError with line and, where known, field.
    """
    try:
        size = len(head.encode())
    except UnicodeEncodeError as e:
        line = head.count("\n", 0, e.start) + 2
        raise FormatError(_HALF, line=line) from None
    if size > FRONT_MATTER_LIMIT:
        raise FormatError(
            f"front matter is longer than {FRONT_MATTER_LIMIT:,} bytes; move text into the body", line=1
        )
    reader = _Reader()
    reader.take_all(head, _NOT_YAML)
    return reader.result()


def _fault(error: yaml.YAMLError, text: str, first_line: int) -> tuple[str, int]:
    """Return what the parser could not read, and on which line."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text.encode()[: error.position]  # the C parser counts bytes
        return f"the character U+{error.character:04X} is not allowed", before.count(b"\n") + first_line
    mark: Any = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "cannot be read"
    context = getattr(error, "context", None) or ""
    if "quoted" in context or "flow" in context:  # the opening quote is the more useful place
        mark = getattr(error, "context_mark", None) or mark
    return _PLAINLY.get(problem, problem), mark.line + first_line if mark else first_line


# The parser's commonest complaints, in words that say what to do.
_PLAINLY = {
    "mapping values are not allowed in this context": "a value that holds `: ` needs quotes",
    "found character that cannot start any token": "a value that begins with a tab, @, % or ` needs quotes",
    "found unexpected end of stream": "a quote is opened here and never closed",
    "did not find expected ',' or ']'": "a bracket is opened here and never closed",
    "did not find expected ',' or '}'": "a brace is opened here and never closed",
}


_NULLS = {"null", "~", "Null", "NULL"}


class Located(dict[str, Any]):
    """A mapping that knows the 1-based line it begins on."""

    def __init__(self, line: int = 0, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(fields or {})
        self.line = line


def load_yaml(text: str, first_line: int) -> list[Any]:
    """Read each YAML document of a text into text, lists and Located mappings, by the rules above.

    Args:
        text: at most ENTITY_LIMIT characters are read; the caller checks.

    Raises FormatError with the line at fault.
    """
    reader = _Reader(first_line, many=True)
    try:
        reader.take_all(text, "not YAML")
    except UnicodeEncodeError as e:
        line = text.count("\n", 0, e.start) + first_line
        raise FormatError(_HALF, line=line) from None
    return reader.documents


class _Reader:
    """Builds plain values from parser events; refuses on the event that breaks a rule."""

    def __init__(self, first_line: int = 2, *, many: bool = False) -> None:
        self.documents: list[Any] = []
        self._first_line = first_line
        self._many = many
        self._stack: list[tuple[Any, list[Any]]] = []
        self._lines: dict[str, int] = {}
        self._field = ""

    def take_all(self, text: str, complaint: str) -> None:
        """Read a text; a FormatError of the parser begins with the complaint."""
        try:
            for event in yaml.parse(text, Loader=LOADER):
                self.take(event)
        except yaml.YAMLError as e:
            problem, line = _fault(e, text, self._first_line)
            raise FormatError(f"{complaint}: {problem}", line=line) from None
        except RecursionError:
            raise FormatError("is nested too deeply", line=max(self._first_line - 1, 1)) from None

    def take(self, event: Any) -> None:
        line = event.start_mark.line + self._first_line
        if isinstance(event, yaml.AliasEvent):
            raise FormatError("YAML aliases are not allowed", line=line, field=self._field)
        if getattr(event, "anchor", None):
            raise FormatError("YAML anchors are not allowed", line=line, field=self._field)
        if getattr(event, "tag", None):
            raise FormatError(f"the YAML tag {event.tag!r} is not allowed", line=line, field=self._field)
        if isinstance(event, yaml.DocumentStartEvent):
            if self.documents and not self._many:
                raise FormatError("front matter holds two documents", line=line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self._stack) >= NESTING_LIMIT:
                raise FormatError("is nested too deeply", line=line, field=self._field)
            value: Any = Located(line) if isinstance(event, yaml.MappingStartEvent) else []
            self._stack.append((value, []))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            value, _ = self._stack.pop()
            self._place(value, line)
        elif isinstance(event, yaml.ScalarEvent):
            null = not event.style and event.value in _NULLS
            self._place(Null(event.value) if null else event.value, line)

    def _place(self, value: Any, line: int) -> None:
        if not self._stack:
            self.documents.append(value)
            return
        container, pending = self._stack[-1]
        if isinstance(container, list):
            container.append(value)
        elif not pending:
            if not isinstance(value, str):
                field = self._field if len(self._stack) > 1 else ""
                raise FormatError("a key must be plain text", line=line, field=field)
            if value in container:
                raise FormatError("is given twice", line=line, field=value)
            if len(self._stack) == 1:
                self._field = value
                self._lines[value] = line
            pending.append(value)
        else:
            container[pending.pop()] = value

    def result(self) -> tuple[Fields, dict[str, int]]:
        root = self.documents[0] if self.documents else ""
        if root == "":
            return {}, {}
        if not isinstance(root, dict):
            raise FormatError("front matter must be a list of `key: value` lines", line=2)
        return root, self._lines
