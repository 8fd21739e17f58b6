"""An independent reader of a registry: plain git and PyYAML, nothing of the product."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import yaml


def plain_git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git; a failure shows what it said."""
    done = subprocess.run(["git", *arguments], cwd=root, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout


def listed(root: Path, revision: str = "HEAD") -> dict[str, str]:
    """Return path -> blob id at a revision."""
    rows = plain_git(root, "ls-tree", "-r", "-z", revision).decode().split("\0")
    return {path: head.split(" ")[2] for head, _, path in (row.partition("\t") for row in rows if row)}


def read(root: Path, revision: str = "HEAD") -> dict[str, dict[str, Any]]:
    """Return path -> fields of every entity at a revision; the body stands under the key of no letters."""
    files = {path: blob for path, blob in listed(root, revision).items() if path.endswith(".md")}
    data = plain_git(root, "cat-file", "--batch", stdin="".join(f"{b}\n" for b in files.values()).encode())
    found = {}
    at = 0
    for path in files:
        start = data.index(b"\n", at) + 1
        size = int(data[at:start].split()[2])
        _, front, body = data[start : start + size].decode().split("---\n", 2)
        found[path] = {**yaml.safe_load(front), "": body}
        at = start + size + 1
    return found


def placed(root: Path) -> dict[str, str]:
    """Return path -> blob id of the files in the work tree, hashed here."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(".git/"):
            data = path.read_bytes()
            digest = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
            found[name] = digest.hexdigest()
    return found
