"""A block that forgekit printed, pasted along with an archive, names entities and claims nothing."""

from __future__ import annotations

from forgekit.archives.machine_block import MachineBlock, MachineRecord, write_machine_block
from forgekit.archives.read import read_archive

BLOCK = write_machine_block(
    MachineBlock(
        purpose="registry-state",
        project="Ledger",
        decisions=(
            MachineRecord(
                id="", text="Store amounts as integers", entity="dec_b34bfcd74276", status="active"
            ),
            MachineRecord(id="", text="Keys are time-ordered", entity="dec_0123456789ab", status="active"),
        ),
        threads=(MachineRecord(id="", text="Retry window", entity="thr_0123456789ab", status="open"),),
    ),
    "",
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
    hostile = MachineBlock(
        purpose="registry-state", decisions=(MachineRecord(id="", text="a --> b <!-- c", entity="dec_1"),)
    )
    written = write_machine_block(hostile, "")
    assert written.count("-->") == 1
    assert written.endswith("-->\n")
