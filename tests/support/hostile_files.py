"""Forty files that somebody may put into a registry to break, mislead or take over who reads it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hostile_registry as sound
import sample_entities

from forgekit.model.entities import entity_path
from forgekit.text import codec

GUEST = sample_entities.decision("Count the ledger twice", sound.CONVERSATIONS[3])
PATH = entity_path(GUEST)
TEXT = codec.dumps(GUEST)
FOLDER = PATH.rpartition("/")[0]
NEIGHBOUR = sound.DECISIONS[3].id
CANARY = "canary"


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """One hostile file.

    Attributes:
        threat: what it is meant to do.
        plant: puts it into a registry.
        says: how the finding about it ends, as `check` words it; "" where the file is a sound entity.
        line: where the finding is, if a line can be told.
        path: what the finding names.
    """

    threat: str
    plant: Callable[[Path], object]
    says: str
    line: int | None = None
    path: str = PATH


def _file(data: bytes | str, path: str = PATH) -> Callable[[Path], object]:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")

    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(raw)

    return plant


def _with(line: str) -> Callable[[Path], object]:
    """Return what plants the guest with a line more, which is line 5."""
    return _file(TEXT.replace("status: active\n", f"status: active\n{line}\n"))


def _link(target: str, path: str = PATH) -> Callable[[Path], object]:
    return lambda root: (root / path).symlink_to(target)


def _socket(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(root / FOLDER, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/s")  # the path of a socket is short
        os.close(here)


def _deep(root: Path) -> None:
    (root / FOLDER / "/".join(["d"] * 150)).mkdir(parents=True)


def _stray(name: str, says: str, folder: str = FOLDER) -> Hostile:
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return Hostile(
        threat="a name that programs take for something else",
        plant=_file(TEXT, f"{folder}/{name}"),
        says=says,
        path=f"{folder}/{shown}",
    )


_ELSEWHERE = f"holds {GUEST.id}, whose place is {PATH}"
_NO_PLACE = "is a file that the registry has no place for"
_GITS = "has a name that git gives a meaning to, which harms a registry"
_TWIN = f"differs from {NEIGHBOUR}.md in case or Unicode form only"
_DEEP = "is nested too deeply"
_NO_ANCHORS = "YAML anchors are not allowed"
_UTF8 = "is not UTF-8 text; save it as UTF-8"
_MARKER = "merge-conflict marker; choose a side and remove the markers"
_FENCE = "must begin with a line of three dashes"
_PIPE = "is a pipe, a socket or a device that the registry has no place for"
_LINK = "is a symbolic link, and links are not followed"

HOSTILE: dict[str, Hostile] = {
    "yaml tag": Hostile(
        threat="a tag that runs a command when the file is loaded",
        plant=_with(f'note: !!python/object/apply:os.system ["touch {CANARY}"]'),
        says="note: the YAML tag 'tag:yaml.org,2002:python/object/apply:os.system' is not allowed",
        line=5,
    ),
    "yaml binary": Hostile(
        threat="a tag that decodes to nothing",
        plant=_with('note: !!binary "@@@"'),
        says="note: the YAML tag 'tag:yaml.org,2002:binary' is not allowed",
        line=5,
    ),
    "alias bomb": Hostile(
        threat="nine levels of aliases, a billion values",
        plant=_with(
            "\n".join(
                [
                    "a: &a [x, x]",
                    *(f"{c}: &{c} [*{p}, *{p}]" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
                ]
            )
        ),
        says=f"a: {_NO_ANCHORS}",
        line=5,
    ),
    "recursive alias": Hostile(
        threat="a list that holds itself", plant=_with("note: &a [*a]"), says=f"note: {_NO_ANCHORS}", line=5
    ),
    "brackets": Hostile(
        threat="ends a C parser by signal 11",
        plant=_with(f"note: {'[' * 60_000}"),
        says=f"note: {_DEEP}",
        line=5,
    ),
    "1.2 MB of brackets": Hostile(
        threat="the same, beyond the size of a front matter",
        plant=_with(f"note: {'[' * 1_200_000}"),
        says="front matter is longer than 1,000,000 bytes; move text into the body",
        line=1,
    ),
    "question marks": Hostile(
        threat="nesting by keys that are maps",
        plant=_with("? " * 3_000 + "x"),
        says=f"status: {_DEEP}",
        line=5,
    ),
    "long number": Hostile(
        threat="5,000 digits, which Python refuses in its own words",
        plant=_with(f"epistemic_tier: {'9' * 5_000}"),
        says=f"epistemic_tier: '{'9' * 60}' is not a number",
        line=5,
    ),
    "not a number": Hostile(
        threat="a tier above and below all others",
        plant=_with("epistemic_tier: .nan"),
        says="epistemic_tier: '.nan' is not a number",
        line=5,
    ),
    "foreign digits": Hostile(
        threat="a number that other readers take for a word",
        plant=_with("epistemic_tier: \u0660.\u0665"),
        says="epistemic_tier: '\u0660.\u0665' is not a number",
        line=5,
    ),
    "no such day": Hostile(
        threat="a date that YAML readers stumble over",
        plant=_file(TEXT.replace("created_at: ", "created_at: 2026-02-30 # ")),
        says="created_at: '2026-02-30' is not a real date: day is out of range for month",
        line=9,
    ),
    "key given twice": Hostile(
        threat="says one thing to one reader and another to the next",
        plant=_with("status: revised"),
        says="status: is given twice",
        line=5,
    ),
    "list front matter": Hostile(
        threat="taken for no front matter, and lost by a rewrite",
        plant=_file("---\n- a\n- b\n---\n"),
        says="front matter must be a list of `key: value` lines",
        line=2,
    ),
    "two documents": Hostile(
        threat="a second document that a reader may prefer",
        plant=_with("...\n--- {status: revised}"),
        says="front matter holds two documents",
        line=6,
    ),
    "byte order mark": Hostile(threat="hides the opening fence", plant=_file("\ufeff" + TEXT), says=""),
    "carriage returns": Hostile(threat="hides line ends", plant=_file(TEXT.replace("\n", "\r\n")), says=""),
    "carriage returns alone": Hostile(
        threat="one line to git, many to an editor",
        plant=_file(TEXT.replace("\n", "\r")),
        says=_FENCE,
        line=1,
    ),
    "nul": Hostile(
        threat="ends a C string", plant=_file(TEXT + "\nx\0y\n"), says="holds a NUL byte", line=13
    ),
    "latin-1": Hostile(
        threat="bytes that are no UTF-8", plant=_file(TEXT.encode() + b"\ncaf\xe9\n"), says=_UTF8, line=13
    ),
    "utf-16": Hostile(
        threat="an editor's other encoding", plant=_file(TEXT.encode("utf-16")), says=_UTF8, line=1
    ),
    "half a character": Hostile(
        threat="a surrogate that no file can hold",
        plant=_with('note: "\\ud800"'),
        says="front matter is not YAML: found invalid Unicode character escape code",
        line=5,
    ),
    "right to left": Hostile(
        threat="shows the words in another order than they are read",
        plant=_file(TEXT + "\nApproved \u202eton\n"),
        says="body: holds the invisible character U+202E (RIGHT-TO-LEFT OVERRIDE)",
        line=13,
    ),
    "tag characters": Hostile(
        threat="words that only a model reads",
        plant=_file(TEXT + "\nFine.\U000e0044\U000e0052\U000e004f\U000e0050\n"),
        says="body: holds the invisible character U+E0044 (TAG LATIN CAPITAL LETTER D)",
        line=13,
    ),
    "terminal escapes": Hostile(
        threat="sets the clipboard, clears the screen",
        plant=_file(TEXT + "\n\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J\x9b2J\n"),
        says="body: holds the invisible character U+001B (a control)",
        line=13,
    ),
    "5 MB": Hostile(
        threat="memory and time",
        plant=_file(TEXT + "x" * 5_000_000),
        says=f"is {len(TEXT) + 5_000_000:,} bytes long; at most 4,000,000 are read",
    ),
    "one line of 900 kB": Hostile(
        threat="time that grows with the square of a line",
        plant=_file(TEXT + "\n" + "`x " * 300_000),
        says="",
    ),
    "no end of front matter": Hostile(
        threat="the body becomes YAML",
        plant=_file(TEXT[: TEXT.rindex("---")]),
        says="front matter is not closed by a line of three dashes",
        line=1,
    ),
    "empty": Hostile(threat="a write that was cut off", plant=_file(""), says=_FENCE, line=1),
    "merge markers": Hostile(
        threat="a merge that nobody finished, in the front matter",
        plant=_with("<<<<<<< ours\nlocal_id: D001\n=======\nlocal_id: D002\n>>>>>>> theirs"),
        says=_MARKER,
        line=5,
    ),
    "merge markers below": Hostile(
        threat="the same in the body",
        plant=_file(TEXT + "\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"),
        says=_MARKER,
        line=13,
    ),
    "thread among decisions": Hostile(
        threat="one kind in the place of another",
        plant=_file(codec.dumps(sound.THREADS[0])),
        says="decision_id: is missing",
        line=1,
    ),
    "neighbour's id": Hostile(
        threat="claims to be another decision",
        plant=_file(TEXT.replace(GUEST.id, NEIGHBOUR)),
        says=f"decision_id: holds {NEIGHBOUR}, whose place is {entity_path(sound.DECISIONS[3])}",
        line=2,
    ),
    "id that is a path": Hostile(
        threat="leads out of the registry",
        plant=_with("superseded_by: ../../../../etc/passwd"),
        says="superseded_by: '../../../../etc/passwd' is not a valid id",
        line=5,
    ),
    "circle": Hostile(
        threat="rests on itself, and whoever follows it walks for ever",
        plant=_with(f"dependencies: [{GUEST.id}]"),
        says=f"dependencies: decisions depend on each other in a circle: dec_{GUEST.id[-12:]}",
        line=5,
    ),
    "other project": Hostile(
        threat="speaks in the name of a project that is not its own",
        plant=_file(TEXT.replace("project_name: Ledger", "project_name: Vault")),
        says="project_name: is 'Vault', but project_uuid belongs to the project 'Ledger'",
        line=5,
    ),
    "changed words": Hostile(
        threat="other words under a known id, with a command in them",
        plant=_file(TEXT.replace(GUEST.decision, f"'$(touch {CANARY}) `touch {CANARY}`'")),
        says="decision: the text, originated_in or project_uuid was changed, and the id is made from them",
        line=3,
    ),
    "link out": Hostile(
        threat="shows or overwrites a file elsewhere", plant=_link("/etc/passwd"), says=_LINK
    ),
    "link to itself": Hostile(threat="is followed for ever", plant=_link(Path(PATH).name), says=_LINK),
    "month that is a link": Hostile(
        threat="takes new files out of the registry",
        plant=_link("/etc", "registry/decisions/2024-01"),
        says=_LINK,
        path="registry/decisions/2024-01",
    ),
    "folder": Hostile(
        threat="a folder under an entity's name",
        plant=lambda root: (root / PATH).mkdir(),
        says="is a folder that the registry has no place for",
    ),
    "pipe": Hostile(threat="a read that never ends", plant=lambda root: os.mkfifo(root / PATH), says=_PIPE),
    "socket": Hostile(threat="a file that cannot be opened", plant=_socket, says=_PIPE, path=f"{FOLDER}/s"),
    "150 folders deep": Hostile(
        threat="libgit2 gives up at a hundred",
        plant=_deep,
        says="is a folder that the registry has no place for",
        path=f"{FOLDER}/d",
    ),
    "twin in capitals": _stray(f"{NEIGHBOUR.upper()}.md", _TWIN),
    "twin in full width": _stray(f"{NEIGHBOUR.replace('0', chr(0xFF10))}.md", _TWIN),
    "folder twin": Hostile(
        threat="replaces the registry where case does not count",
        plant=_file(TEXT, f"Registry/{PATH.partition('/')[2]}"),
        says="differs from registry in case or Unicode form only",
        path="Registry",
    ),
    "line end in a name": _stray("a\nerror: forged.md", _NO_PLACE),
    "escape in a name": _stray("\x1b[2J.md", _NO_PLACE),
    "bidi in a name": _stray("a\u202edm.exe", _NO_PLACE),
    "option as a name": _stray("--output=x.md", _ELSEWHERE),
    "rm as a name": _stray("-rf", _ELSEWHERE),
    "device as a name": _stray("CON", _ELSEWHERE),
    "command as a name": _stray(f"$(touch {CANARY}).md", _ELSEWHERE),
    "backslashes in a name": _stray("x\\..\\..\\y.md", _ELSEWHERE),
    "attributes in a folder": _stray(".gitattributes", _GITS, "registry"),
    "submodules in a folder": _stray(".gitmodules", _GITS, "registry/decisions"),
    ".git in a folder": Hostile(
        threat="a repository of its own, with its own configuration",
        plant=_file(f"[core]\n\tfsmonitor = touch {CANARY}\n", "registry/decisions/.git/config"),
        says=_GITS,
        path="registry/decisions/.git",
    ),
    ".git with a joiner": Hostile(
        threat="is .git to a file system that does not see the joiner",
        plant=_file("x", "registry/.git\u200d/config"),
        says=_GITS,
        path="registry/.git\\u200d",
    ),
}
