"""Text in, records out: layouts of archives by hands that the reader had not met."""

from __future__ import annotations

from forgekit.archives.read import read_archive


def test_a_label_of_titles_beside_a_title_gives_the_answer() -> None:
    text = "## Fils\n\n### FIL-02 : Analyse de l'eau\n- **Statut :** {}\n- **Issue :** eau potable\n"
    (ended,) = read_archive(text.format("r\u00e9solu")).threads
    assert (ended.title, ended.resolution) == ("Analyse de l'eau", "eau potable")
    (open_,) = read_archive(text.format("ouvert")).threads
    assert (open_.title, open_.resolution, open_.content) == ("Analyse de l'eau", "", "eau potable")
