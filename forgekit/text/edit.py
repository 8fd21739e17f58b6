"""Field-wise editing: a file changes only where its entity does.

People edit these files by hand. So a write replaces the lines of the fields that changed and leaves
every other byte: comments, blank lines, key order, quotes, line ends, byte order mark, unknown fields.
Fields are located by the marks of a parser; nothing that stays is ever written anew by a library.

Laws, with `old = codec.loads(kind, text)`:

    update(text, old) == text                           no change, no diff
    codec.loads(kind, update(text, e)) == e             what is written is what was meant
    update(codec.dumps(old), e) == codec.dumps(e)       a canonical file stays canonical
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from forgekit.errors import FormatError, RuleError
from forgekit.frozen import frozen
from forgekit.model.entities import Archive, Entity, known_fields
from forgekit.text import codec, frontmatter

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what YAML 1.1 counts as the end of a line
_COMMENT = re.compile(r"[ \t]+#.*")
_KEEP = re.compile(r"[|>][0-9]*\+")  # the header of a block scalar whose trailing blank lines count


@frozen(kw_only=True)
class _Span:
    """The lines of one field: `text[start:end]`, line ends included; `comment` is kept by a rewrite."""

    start: int
    end: int
    indent: int
    comment: str


def update(text: str, entity: Entity) -> str:
    """Return the text of a file, changed only where it differs from the entity.

    A changed field's lines are replaced; a comment beside a one-line value stays. A field newly set goes
    after the nearest field that precedes it in canonical order; a field no longer set loses its lines.

    Args:
        text: the present file, of the entity's kind.

    Raises FormatError when the text cannot be read, RuleError when the result would say something else.
    """
    old = codec.loads(entity.kind, text)
    if codec.dumps(old) == text:
        return codec.dumps(entity)
    start, end, body = frontmatter.bounds(text)
    head = _head(text[start:end], old, entity)
    result = text[:start] + head + _rest(text[end:body], text[body:], old, entity)
    try:
        result_entity = codec.loads(entity.kind, result)
    except FormatError as e:
        raise RuleError(f"the edited text of {entity.id} cannot be read ({e}); this is a bug") from e
    if result_entity != entity:
        raise RuleError(f"the edited text of {entity.id} differs from the entity; this is a bug")
    return result


def comments(text: str) -> tuple[str, ...]:
    """Return the comments of a file's front matter between its fields or beside one.

    Raises FormatError where the text has no front matter that can be read.
    """
    start, end, _ = frontmatter.bounds(text)
    head = text[start:end]
    if "#" not in head or not frontmatter.load_fields(head)[0]:  # which also limits the parser's input
        return ()
    spans = sorted((_spans(head) or {}).values(), key=lambda span: span.start)
    out, done = [], 0
    for span in spans:
        out += [*_BREAK.split(head[done : span.start]), span.comment]
        done = span.end
    if spans:
        out += _BREAK.split(head[done:])
    return tuple(line.strip() for line in out if line.strip().startswith("#"))


def with_comments(text: str, lines: Iterable[str]) -> str:
    """Return the text with comments added at the end of its front matter, a line each."""
    _, end, _ = frontmatter.bounds(text)
    return text[:end] + "".join(f"{line}\n" for line in lines) + text[end:]


def _head(head: str, old: Entity, entity: Entity) -> str:
    """Return the front matter with its changed fields replaced, added and removed."""
    before, after = codec.to_fields(old), codec.to_fields(entity)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if not changed:
        return head
    texts = codec.field_texts(entity)
    spans = _spans(head)
    if spans is None:
        return "".join(texts.values())
    order = [*known_fields(entity.kind), *entity.extra]
    edits: list[tuple[int, int, str]] = []
    for key in sorted(changed, key=lambda key: order.index(key) if key in order else -1):
        new = texts.get(key, "")
        if key in spans:
            span = spans[key]
            edits.append((span.start, span.end, _fitted(new, span, head) if new else ""))
        else:
            near = next(spans[k] for k in reversed(order[: order.index(key)]) if k in spans)
            edits.append((near.end, near.end, _fitted(new, near, head, comment=False)))
    return _applied(head, edits)


def _applied(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Return the text with edits made; those at one place in the order given."""
    out: list[str] = []
    done = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        out += [text[done:start], new]
        done = end
    return "".join([*out, text[done:]])


def _fitted(lines: str, span: _Span, head: str, *, comment: bool = True) -> str:
    """Return canonical lines in the indentation and line ends of a place, with its comment."""
    found = _BREAK.findall(head, span.start, span.end)
    newline = found[-1] if found and found[-1] in ("\r\n", "\r") else "\n"
    first, *more = lines.splitlines()
    if comment:
        first += span.comment
    return "".join(f"{' ' * span.indent}{line}{newline}" for line in (first, *more))


def _spans(head: str) -> dict[str, _Span] | None:
    """Locate each field's lines, or return None where fields and lines do not go together.

    That is front matter written as one flow map, or with `? key` lines.
    """
    root = _composed(head)
    if root.flow_style:
        return None
    spans: dict[str, _Span] = {}
    for key, value in root.value:
        start = _line_start(head, key.start_mark.index)
        if head[start : key.start_mark.index].strip(" "):
            return None
        last = _value_end(head, key, value)
        spans[key.value] = _Span(
            start=start,
            end=_line_end(head, last),
            indent=key.start_mark.column,
            comment=_comment(head, key.end_mark.index, value.start_mark.index, last),
        )
    return spans


def _composed(head: str) -> Any:
    """Return the nodes of front matter with their marks.

    ruamel.yaml locates the fields; what only the reader of record accepts (a tab before a comment, say) is
    located by that reader, so that whatever can be read can be edited.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(head)
    except YAMLError:
        return yaml.compose(head, Loader=frontmatter.LOADER)


def _value_end(head: str, key: Any, value: Any) -> int:
    """Return where a value ends: an empty one at its colon, as the parser may place it below comments."""
    if isinstance(value.value, str) and value.start_mark.index == value.end_mark.index:
        return head.index(":", key.end_mark.index) + 1
    return _node_end(head, value)


def _node_end(head: str, node: Any) -> int:
    """Return where a value's text ends, without blank lines and comments that follow it."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if not isinstance(node.value, str):
        if node.flow_style:
            return end
        child = node.value[-1]  # the parser ends a block where the next field begins
        return _value_end(head, *child) if isinstance(child, tuple) else _node_end(head, child)
    if node.style in ("|", ">"):
        value = head[start:end]
        return end - 1 if _KEEP.match(value) else start + len(value.rstrip())
    return end if end > start else len(head[:end].rstrip())


def _comment(head: str, key_end: int, first: int, last: int) -> str:
    """Return the comment on a field's first line, with the blanks before it."""
    line_end = _BREAK.search(head, key_end)
    stop = line_end.start() if line_end else len(head)
    if last <= stop:
        match = _COMMENT.match(head, last, stop)
    elif first > stop:  # the value begins below: only a comment can follow the colon
        match = _COMMENT.match(head, head.index(":", key_end, stop) + 1, stop)
    else:
        match = None
    return match.group() if match else ""


def _line_start(text: str, index: int) -> int:
    while index and not _BREAK.match(text, index - 1):
        index -= 1
    return index


def _line_end(text: str, index: int) -> int:
    match = _BREAK.search(text, index)
    return match.end() if match else len(text)


def _rest(fence: str, rest: str, old: Entity, entity: Entity) -> str:
    """Return the closing fence and the body, changed only where the body did."""
    if entity.body == old.body:
        return fence + rest
    newline = "\r\n" if fence.endswith("\r\n") else "\n"
    fence = fence if fence.endswith("\n") else fence + newline
    if isinstance(entity, Archive):
        return f"{fence}{newline}{entity.body}"
    if not entity.body:
        return fence
    if not old.body:
        return "".join([fence, newline, entity.body.replace("\n", newline), newline])
    return fence + _lines_replaced(rest, old.body.split("\n"), entity.body.split("\n"), newline)


def _lines_replaced(rest: str, old: list[str], new: list[str], newline: str) -> str:
    """Return the raw body with the lines between the common first and last lines replaced."""
    raw = rest.replace("\r\n", "\n").replace("\r", "\n")
    before = len(raw) - len(raw.lstrip("\n"))
    lines = re.findall("[^\r\n]*(?:\r\n|[\r\n]|$)", rest)
    lead, body, tail = lines[:before], lines[before : before + len(old)], lines[before + len(old) :]
    shared = min(len(old), len(new))
    head = next((i for i in range(shared) if old[i] != new[i]), shared)
    foot = next((i for i in range(shared - head) if old[-1 - i] != new[-1 - i]), shared - head)
    middle = [line + newline for line in new[head : len(new) - foot]]
    kept = body[:head]
    if kept and not kept[-1].endswith(("\n", "\r")):
        kept[-1] += newline
    return "".join([*lead, *kept, *middle, *(body[len(body) - foot :] if foot else []), *tail])
