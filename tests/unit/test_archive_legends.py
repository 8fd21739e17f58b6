"""The signs of an archive's legend mean what the legend says."""

from __future__ import annotations

import pytest

from forgekit.archives.document import read_document
from forgekit.archives.read import read_archive


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as the reader sees them, without the empty ones."""
    return [line for line in read_document(text).lines if line]


@pytest.mark.parametrize(
    ("legend", "line", "written"),
    [
        (
            "Legend: ~> = reason, >< = rejected",
            "- Use tin ~> it is light",
            "- Use tin ; rationale:  it is light",
        ),
        ("Legend: △ replaced · ◇ withdrawn", "△ The old pump", "[superseded] The old pump"),
        (
            "Key: H = high confidence; L = low confidence",
            "[H] Two doors",
            "[confidence: high confidence] Two doors",
        ),
        ("Legende: ▲▲ sehr fest · ▲ ein Versuch", "▲▲ Zwei Türen", "(confidence: 2/2) Zwei Türen"),
        ("(! low, !! medium, !!! high)", "- Who pays? !!", "- Who pays? (priority: medium)"),
    ],
)
def test_a_sign_is_written_out(legend: str, line: str, written: str) -> None:
    assert lines_of(f"# Notes\n\n{legend}\n\n{line}\n")[1:] == [written]


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\nLet a = 3, b = 4.\n\n- Use a of b\n",
        "# Notes\n\nLegend: ✅ fixed · ❌ off\n\n- ✅ Two doors\n",  # every reader knows these
        "# Notes\n\nSaid by mail.\n\n```\nLegend: △ replaced · ◇ withdrawn\n```\n\n△ The old pump\n",
        "# Notes\n\nLegend: △ replaced\n\n△ The old pump\n",
    ],
)
def test_all_stays_where_less_than_two_signs_are_understood_or_are_quoted(text: str) -> None:
    assert list(read_document(text).lines) == text.split("\n")


def test_a_legend_over_several_lines_gives_states_and_ratings() -> None:
    text = (
        "# Archive: SHED_1\n\n**Legend:** ⟲ replaced · ⊘ withdrawn\n**Weight:** ◆◆ firm · ◆ first try\n\n"
        "## Decisions\n\n- D1 ◆◆ Tin roof\n- D2 ◆ Felt roof ⊘\n"
    )
    first, second = read_archive(text).decisions
    assert (first.text, first.tier, second.text) == ("Tin roof", 1.0, "Felt roof")
    assert second.tier == 0.5
