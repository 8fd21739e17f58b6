"""What a write keeps of a file besides its words, and what it leaves of a folder and of git's index."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import decision, git, path_of_text, recording

from forgekit.errors import DirtyFileError, StoreError
from forgekit.store import Change, Store
from forgekit.text import codec

PATH = path_of_text("Use A")
LONG_AGO = (1_700_000_000, 1_700_000_000)


@pytest.fixture
def store(repository: Path) -> Store:
    """Return the store of a registry that holds one decision."""
    found = Store(repository)
    found.commit(lambda: recording("Use A"))
    return found


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_that_others_may_not_read_stays_so(repository: Path, store: Store, mode: int) -> None:
    (repository / PATH).chmod(mode)
    store.commit(lambda: recording("Use A", rationale="Short."))
    assert stat.S_IMODE((repository / PATH).stat().st_mode) == mode
    assert (repository / PATH).read_text(encoding="utf-8") == codec.dumps(decision("Use A", "Short."))


def test_a_file_that_is_executable_in_git_stays_so(repository: Path, store: Store) -> None:
    git(repository, "update-index", "--chmod=+x", PATH)
    (repository / PATH).chmod(0o755)
    git(repository, "commit", "--quiet", "--message", "mode")
    store.commit(lambda: recording("Use A", rationale="Short."))
    assert git(repository, "ls-tree", "HEAD", PATH).startswith("100755 ")
    assert git(repository, "ls-files", "--stage", PATH).startswith("100755 ")
    assert git(repository, "status", "--porcelain") == ""


def test_a_month_that_a_deletion_empties_goes_and_its_kind_stays(repository: Path, store: Store) -> None:
    store.commit(lambda: Change(deletes=(PATH,), subject="decision: delete"))
    month = (repository / PATH).parent
    assert (month.exists(), month.parent.exists()) == (False, True)


def test_line_ends_that_git_takes_for_an_edit_are_one(repository: Path, store: Store) -> None:
    edited = codec.dumps(decision("Use A")).replace("\n", "\r\n").encode()
    (repository / PATH).write_bytes(edited)
    assert git(repository, "status", "--porcelain") == f" M {PATH}\n"
    with pytest.raises(DirtyFileError) as caught:
        store.commit(lambda: recording("Use A", rationale="Short."))
    assert PATH in str(caught.value)
    assert (repository / PATH).read_bytes() == edited


def test_an_edit_keeps_the_line_ends_that_git_holds(repository: Path, store: Store) -> None:
    def windows(rationale: str = "") -> bytes:
        return codec.dumps(decision("Use A", rationale)).replace("\n", "\r\n").encode()

    (repository / PATH).write_bytes(windows())
    git(repository, "commit", "--quiet", "--all", "--message", "line ends")
    (repository / PATH).write_bytes(windows("By hand."))
    tagged = replace(decision("Use A", "By hand."), tags=("ids",))
    done = store.commit(
        lambda: Change(writes=(tagged,), over={PATH: windows("By hand.")}, subject="decision: tag")
    )
    expected = windows("By hand.").replace(b"22:13:20Z\r\n---", b"22:13:20Z\r\ntags: [ids]\r\n---")
    assert store.repository.read_at(str(done.commit), PATH) == expected == (repository / PATH).read_bytes()


def test_a_link_in_git_is_told_and_not_written_over(repository: Path, store: Store) -> None:
    (repository / PATH).unlink()
    (repository / PATH).symlink_to("elsewhere.md")
    git(repository, "commit", "--quiet", "--all", "--message", "link")
    (repository / PATH).unlink()
    (repository / PATH).write_text("elsewhere.md", encoding="utf-8")
    with pytest.raises(StoreError, match="is no regular file in git; delete it and commit that"):
        store.commit(lambda: recording("Use A", rationale="Short."))
    assert (repository / PATH).read_text(encoding="utf-8") == "elsewhere.md"


@pytest.mark.parametrize("setting", [(), ("--index-version", "4")])
def test_an_edit_behind_a_file_that_is_to_be_added_is_still_seen(
    repository: Path, setting: tuple[str, ...]
) -> None:
    git(repository, "config", "core.trustctime", "false")
    names = ("src/a.py", "src/b.py", "src/c.py")
    (repository / "src").mkdir()
    for name in names:
        (repository / name).write_text("old", encoding="utf-8")
        os.utime(repository / name, LONG_AGO)
    git(repository, "add", "--intent-to-add", names[0])
    git(repository, "add", *names[1:])
    git(repository, "commit", "--quiet", "--message", "work")
    if setting:
        git(repository, "update-index", *setting)
    (repository / names[2]).write_text("new", encoding="utf-8")
    os.utime(repository / names[2], LONG_AGO)
    os.utime(repository / ".git" / "index", LONG_AGO)
    Store(repository).commit(lambda: recording("Use A"))
    Store(repository).commit(lambda: recording("Use B"))
    assert git(repository, "status", "--porcelain") == " A src/a.py\n M src/c.py\n"
