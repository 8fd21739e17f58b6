"""A block that forgekit printed, pasted along with an archive, names entities and claims nothing."""

from __future__ import annotations

from forgekit.archives.machine_block import MachineBlock, MachineRecord, write_machine_block
from forgekit.archives.read import read_archive

BLOCK = write_machine_block(
    MachineBlock(
        purpose="registry-state",
        project="Ledger",
        decisions=(
            MachineRecord(id="", entity="dec_b34bfcd74276"),
            MachineRecord(id="", entity="dec_0123456789ab"),
        ),
        threads=(MachineRecord(id="", entity="thr_0123456789ab"),),
    )
)
ARCHIVE = """# Conversation Archive: Amounts

**Compression Tag:** AMOUNTS_SETTLED

## Decision Log

### D007: Store amounts as integers
- **Decision:** store amounts as integers.

### T002: Something else
- **Status:** open
"""


def test_a_pasted_block_adds_no_record_and_changes_none() -> None:
    text = read_archive(f"{ARCHIVE}\n{BLOCK}")
    assert [(d.local_id, d.entity) for d in text.decisions] == [("D007", None)]
    assert [(t.local_id, t.entity) for t in text.threads] == [("T002", None)]
    assert text.problems == ()


def test_a_text_in_a_block_cannot_close_its_comment() -> None:
    written = write_machine_block(MachineBlock(purpose="registry-state", project="a --> b <!-- c"))
    assert written.count("-->") == 1
    assert written.endswith("-->\n")
