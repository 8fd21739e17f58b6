"""Text in, records out: layouts of archives by hands that the reader had not met."""

from __future__ import annotations

from forgekit.archives.read import read_archive


def test_a_label_of_titles_beside_a_title_gives_the_answer() -> None:
    text = "## Fils\n\n### FIL-02 : Analyse de l'eau\n- **Statut :** {}\n- **Issue :** eau potable\n"
    (ended,) = read_archive(text.format("r\u00e9solu")).threads
    assert (ended.title, ended.resolution) == ("Analyse de l'eau", "eau potable")
    (open_,) = read_archive(text.format("ouvert")).threads
    assert (open_.title, open_.resolution, open_.content) == ("Analyse de l'eau", "", "eau potable")


def test_a_label_of_several_words_is_the_field_that_its_first_names() -> None:
    text = (
        "## Decisions\n\n- **D1. Use oak**\n  - **Epistemic status:** established (0.93)\n"
        "  - **Reasoning chain:**\n    - Steel shakes.\n    - Oak does not.\n"
        "  - **Alternatives considered and why not:**\n    - Damped steel: dampers need replacing\n"
    )
    (read,) = read_archive(text).decisions
    assert (read.text, read.tier, read.rationale) == ("Use oak", 0.93, "Steel shakes.\nOak does not.")
    assert read.alternatives == ("Damped steel: dampers need replacing",)
