"""Files as people leave them come back unchanged; an edit of a field changes its lines (G12)."""

from __future__ import annotations

import dataclasses
from typing import Any

import strategies as s
from guarantees import Level, Report
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from test_edit_laws import assert_only_its_lines

from forgekit.model.entities import CLASSES
from forgekit.model.kinds import Kind
from forgekit.text import codec, edit, frontmatter


def test_generated_files_come_back_as_they_were(level: Level, guarantee: Report) -> None:
    wanted = level.pick(500, 10_000)
    files = fields = 0

    @seed(level.seed)
    @settings(max_examples=wanted, derandomize=False, suppress_health_check=list(HealthCheck))
    @given(kind=st.sampled_from(Kind), data=st.data())
    def law(kind: Kind, data: st.DataObject) -> None:
        nonlocal files, fields
        old, other = data.draw(s.of_kind(kind)), data.draw(s.of_kind(kind))
        canonical = codec.dumps(old)
        assert codec.dumps(codec.loads(kind, frontmatter.decode(canonical.encode()))) == canonical
        file = data.draw(s.hand_edited(old))
        assert edit.update(file.text, codec.loads(kind, file.text)) == file.text
        files += 1

        names = [f.name for f in dataclasses.fields(CLASSES[kind]) if f.name not in {kind.id_field, "extra"}]
        new: Any = s.mixed(old, other, [data.draw(st.sampled_from(names))])
        result = edit.update(file.text, new)
        assert codec.loads(kind, result) == new
        if new.body == old.body:
            _, _, rest = frontmatter.bounds(file.text)
            assert result.endswith(file.text[rest:])
        if canonical != file.text:
            assert_only_its_lines(file, old, new, result)
        fields += new != old

    law()
    assert files >= wanted
    assert fields > wanted // 3
    figure = f"{files:,} generated files byte for byte, {fields:,} edits touch their own lines alone"
    guarantee("G12", "read and write change nothing that was not meant", figure)
