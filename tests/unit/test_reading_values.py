"""Values of front matter that stand for nothing, numbers out of range, line ends of a body."""

from __future__ import annotations

import pytest
from sample_entities import X

from forgekit.model.fields import COUNT
from forgekit.model.kinds import Kind
from forgekit.text import codec, frontmatter


@pytest.mark.parametrize("word", ["null", "~", "Null", "NULL"])
def test_a_field_that_is_set_to_null_is_not_set(word: str) -> None:
    text = codec.dumps(X)
    assert "local_id" not in text
    assert codec.loads(Kind.DECISION, text.replace("\nstatus:", f"\nlocal_id: {word}\nstatus:", 1)) == X


def test_a_body_has_one_line_end_whatever_its_editor_wrote() -> None:
    assert frontmatter.read("---\ntitle: a\n---\n\nrows\rcolumns\r\ntrees\r")[2] == "rows\ncolumns\ntrees"


def test_a_count_has_an_end() -> None:
    assert COUNT.read("10000000") == 10_000_000
    with pytest.raises(ValueError, match="must be a whole number, such as 35"):
        COUNT.read("10000001")
