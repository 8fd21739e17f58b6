"""The queue of transcripts that hooks leave to be ingested when the agent does not wait.

A hook notes the path of a transcript in a file of its own and starts a process that ingests what is noted; a
transcript that was ingested before changes nothing. One that lies elsewhere than the agent keeps its
transcripts is not noted: the path is what the agent's input says, and anything may have written that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.console import one_line
from forgekit.hooks.agents import INGEST
from forgekit.worktree.local_state import QUEUE, STATED, path_hash, read, read_json, write, write_json
from forgekit.worktree.roots import cache_dir

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.hooks.agents import HookInput

_SUFFIX = ".jsonl"


def transcript_of(given: HookInput) -> Path | None:
    """Return the transcript of a session; None where the agent names none, or has not written it yet.

    Raises ValueError as of `place_of`.
    """
    place = place_of(given)
    return place if place is not None and place.is_file() else None


def place_of(given: HookInput) -> Path | None:
    """Return where the transcript of a session is or will be; None where the agent names none.

    Raises ValueError for a place elsewhere than the agent keeps its transcripts.
    """
    path = given.data.get("transcript_path")
    if not given.transcripts or not isinstance(path, str) or not path:
        return None
    transcript = Path(path).expanduser().resolve()
    home = given.home.resolve()
    if transcript.suffix != _SUFFIX or home not in transcript.parents:
        raise ValueError(f"no transcript of {given.agent} below {home}: {path[:200]}")
    return transcript


def add(forge: Forge, given: HookInput) -> str:
    """Note the transcript of a session, and start a process that ingests it; return ""."""
    transcript = transcript_of(given)
    if transcript is None:
        return ""
    folder = cache_dir(forge.root) / QUEUE
    folder.mkdir(parents=True, exist_ok=True)
    row = {"format": given.transcripts, "path": str(transcript), "folder": str(given.folder)}
    write_json(folder / f"{path_hash(transcript)}.json", row)
    start_process(forge.root, "hook", given.agent, INGEST)
    return ""


def start_process(root: Path | None, *command: str) -> None:
    """Start forgekit as a process of its own, which outlives the hook."""
    import subprocess  # it takes 8 ms, and most hooks start nothing

    subprocess.Popen(  # noqa: S603 - this program, fixed arguments, no shell
        [sys.executable, "-m", "forgekit", *(("-C", str(root)) if root else ()), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def ingest(forge: Forge) -> None:
    """File the transcripts that are noted; raise the first error when all were tried.

    Two of these processes may run at once: a note that is gone is one that the other has filed.
    """
    from forgekit.conventions import waiting as contradictions_of_conventions
    from forgekit.filing.conversations import ingest as file_conversations
    from forgekit.hooks.notices import project_of
    from forgekit.model.entities import ConventionStatus
    from forgekit.transcripts.formats import conversations

    forge.catalogue.refresh()
    errors: list[Exception] = []
    for note in sorted((cache_dir(forge.root) / QUEUE).glob("*.json")):
        if not (row := read_json(note)):
            continue
        _, project = project_of(forge, Path(row["folder"]))
        try:
            report = file_conversations(forge, conversations([row["path"]], row["format"]), project=project)
        except Exception as e:  # noqa: BLE001 - one that always fails must not hold back the others
            write_json(note, row | {"failed": one_line(str(e))[:500]})
            errors.append(e)
            continue
        if report.conventions:
            gone = {each.id for each in report.decayed}
            active = (one for one in report.conventions if one.status is ConventionStatus.ACTIVE)
            stated = {each.id: each.project_uuid for each in active if each.id not in gone}
            write(forge.root, STATED, read(forge.root, STATED) | stated)
            contradictions_of_conventions(forge)  # a hook that writes them has no time to judge
        if read_json(note) == row:
            note.unlink(missing_ok=True)
    if errors:
        raise errors[0]
