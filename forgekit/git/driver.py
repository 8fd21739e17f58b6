"""The merge driver of a clone: git calls it where both sides changed one file of the registry.

The program is named in the clone's own settings and never travels: each clone registers it. The
rules that lead to it are committed (`.gitattributes`) and repeated in `.git/info/attributes`, which wins
over whatever a branch brings along.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from forgekit.errors import WriteError
from forgekit.git.program import Program
from forgekit.model.kinds import Kind

NAME = "forgekit"
CHOOSE = 64
"""The driver's exit status where a person has to choose; Python ends with 1 where there is no forgekit."""

RULES = ("archives/** -text", f"registry/**/*.md merge={NAME}", f"archives/**/*.md merge={NAME}")
"""What git must know of the registry's files: bytes stay as they are, and forgekit merges them."""

_KEY = f"merge.{NAME}.driver"


def command(python: str = sys.executable) -> str:
    """Return the command line that git runs; git quotes the path itself, the other names are its own.

    The folder that git works in is no place to import from (`-P`). git takes any failure for a result with a
    conflict in it: where the driver cannot run, the sides are merged line by line, so that none is lost.
    """
    program = shlex.quote(python).replace("%", "%%")
    by_lines = "git merge-file -L ours -L base -L theirs %A %O %B"
    run = f"{program} -P -m forgekit merge-driver %O %A %B %P"
    return f"{run} || {{ [ $? = {CHOOSE} ] && exit 1; {by_lines}; }}"


def register(program: Program) -> bool:
    """Register the driver in this clone and say whether that was to be done.

    Raises RepositoryError, WriteError.
    """
    if not fault(program):
        return False
    program.run("config", "--local", f"merge.{NAME}.name", "forgekit: merge by the meaning of each field")
    program.run("config", "--local", _KEY, command())
    path = program.common_dir / "info" / "attributes"
    try:
        present = _attributes(program)
        if missing := _missing(program, present):
            path.parent.mkdir(exist_ok=True)
            beside = path.with_name(f"attributes.{os.getpid()}")
            joint = "\n" if present and not present.endswith("\n") else ""
            text = present + joint + "".join(f"{line}\n" for line in missing)
            beside.write_text(text, encoding="utf-8", errors="surrogateescape")
            beside.replace(path)
    except OSError as e:
        raise WriteError(str(path), e.strerror or str(e)) from None
    return True


def is_missing(program: Program) -> bool:
    """Say whether no driver is registered in this clone, of this forgekit or another."""
    return bool(program.attempt("config", "--local", "--get", _KEY).returncode)


def fault(program: Program) -> str:
    """Say what this clone lacks for git to merge the registry's files, or return ""."""
    line = program.attempt("config", "--local", "--get", _KEY).stdout.decode("utf-8", "surrogateescape")
    if not line:
        return "this clone lacks the merge driver: git merges the registry's files line by line"
    # No other program is asked whether it has forgekit: in a clone that came from somewhere, it may do harm.
    ours = Path(sys.executable)
    names = [name for name in ours.parent.glob("python*") if os.access(name, os.X_OK) and name.samefile(ours)]
    if line.rstrip("\n") not in {command(str(name)) for name in names}:
        return "this clone's merge driver is not this forgekit's: where it cannot start, a side may be lost"
    missing = _missing(program, _attributes(program))
    return "this clone lacks the rules that lead to the merge driver" if missing else ""


def _attributes(program: Program) -> str:
    path = program.common_dir / "info" / "attributes"
    return path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""


def _missing(program: Program, present: str) -> list[str]:
    """Return the rules that a file of attributes lacks, or that later lines override."""
    wanted = [_below(program.prefix, rule) for rule in RULES]
    return [] if set(present.splitlines()).issuperset(wanted) and _in_force(program) else wanted


def _below(prefix: str, rule: str) -> str:
    """Return a rule for what lies below a folder, whose name git takes for a name and not for a pattern."""
    pattern, _, attribute = rule.partition(" ")
    pattern = re.sub(r"[*?[\\]", r"\\\g<0>", prefix) + pattern
    if re.search(r'[\s"\\#]', pattern):
        pattern = '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{pattern} {attribute}"


def _in_force(program: Program) -> bool:
    """Say whether git takes from the rules how each kind of file is treated."""
    samples = [f"{kind.folder}/2023-11/sample.md" for kind in Kind]
    wanted = {(sample, "merge", NAME) for sample in samples}
    wanted |= {(sample, "text", "unset") for sample in samples if sample.startswith("archives/")}
    # From the index: what lies in the folders may be a pipe.
    listed = program.attempt("check-attr", "--cached", "-z", "merge", "text", "--", *samples).stdout
    words = iter(listed.decode("utf-8", "replace").split("\0"))
    return wanted.issubset(zip(words, words, words, strict=False))
