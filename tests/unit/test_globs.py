"""Path patterns: what they cover, and how long that takes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgekit.text.globs import covering_nothing, covers

NAMES = st.text("ab.", min_size=1, max_size=3).filter(lambda name: set(name) != {"."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src/api/routes.py", "src/api/routes.py", True),
        ("src/api/routes.py", "src/api/routes.pyc", False),
        ("./src//api/", "src/api/routes.py", True),
        ("/src", "lib/src/x.py", False),
        ("src/api", "src/api/v1/routes.py", True),
        ("src/api", "src/apiary/routes.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/api/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/api/v1/a.py", True),
        ("src/**", "src/api/v1/a.py", True),
        ("src/**", "src", False),
        ("**/test_*.py", "test_a.py", True),
        ("**/a/**/b", "x/a/y/a/z/b", True),
        ("**/a/b", "a/x/a/c", False),
        ("*.sql", "db/migrations/1.sql", True),
        ("Dockerfile", "deploy/Dockerfile", True),
        ("migrations", "db/migrations/1.sql", True),
        ("src/[ab].py", "src/b.py", True),
        ("src/[ab].py", "src/c.py", False),
        ("SRC/a.py", "src/a.py", False),
        ("", "src/a.py", False),
        ("/", "src/a.py", False),
        ("**", "src/a.py", True),
    ],
)
def test_a_pattern_covers_files_and_what_is_in_a_folder(pattern: str, path: str, covered: bool) -> None:
    assert covers(pattern, path) is covered


@given(PATHS, PATHS)
def test_a_path_as_a_pattern_covers_itself_and_what_is_below_it(path: str, below: str) -> None:
    assert covers("/" + path, path)
    assert covers("/" + path, f"{path}/{below}")
    assert covers(f"**/{path}", f"{below}/{path}")
    assert not covers(f"/{path}/{below}", path)


PATTERNS = st.lists(NAMES | st.sampled_from(["*", "**", "a*", "?"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(PATTERNS, max_size=6), st.lists(PATHS, max_size=8))
def test_a_pattern_covers_nothing_where_it_covers_no_file(patterns: list[str], paths: list[str]) -> None:
    wanted = [pattern for pattern in patterns if not any(covers(pattern, path) for path in paths)]
    assert covering_nothing(patterns, paths) == wanted


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 500 + "b", "a" * 4_000),
        ("**/" * 500 + "b", "a/" * 2_000 + "c"),
        ("**/a/" * 300 + "b", "a/" * 2_000 + "c"),
    ],
)
def test_a_hostile_pattern_ends_soon(pattern: str, path: str) -> None:
    start = time.process_time()
    assert not covers(pattern, path)
    assert time.process_time() - start < 5
