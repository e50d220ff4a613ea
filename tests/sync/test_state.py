import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.copies import OWNER, agreed
from wikisync.core import model
from wikisync.errors import StateDamaged, StateError
from wikisync.sync.base import agreements
from wikisync.sync.base import state as base_state
from wikisync.sync.base.database import FIELDS
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.ledger import Agreed, FetchedFile
from wikisync.sync.decide.plan import BasePage

HOME, OTHER = model.Slug("home"), model.Slug("other")
FOLDER = "uploads/" + "0123456789abcdef" * 2
PICTURE = model.AttachmentPath(f"{FOLDER}/p.png")


def test_page_is_remembered_with_both_digests_and_its_text(path: Path) -> None:
    here, there = "half \ud83d\r\n", "half \ud83d\n"
    digests = model.digest_of(here), model.digest_of(there)
    page = BasePage(HOME, model.Format.ORG, *digests)
    with State.open(path) as state:
        state.wiki(OWNER).record([Agreed.of(page, here)])
    with State.open(path) as state:
        known = state.wiki(OWNER)
        assert known.base() == {HOME: page}
        assert known.text(HOME) == here
        shown = model.PageState(HOME, model.Format.ORG, digests[1])
        assert known.remote_pages() == {HOME: shown}


def test_states_of_the_wiki_follow_each_change(known: WikiState) -> None:
    """Those of pages that did not change are handed on."""

    def is_of_the_base() -> bool:
        shown = {slug: page.remote_state for slug, page in known.base().items()}
        return known.remote_pages() == shown

    def record_in_vain() -> None:
        with known.together():
            known.record([agreed("third", "cc")])
            assert is_of_the_base()
            raise RuntimeError

    known.record([agreed("home", "a"), agreed("other", "b"), agreed("third", "c")])
    before = known.remote_pages()
    known.record([agreed("home", "aa")])
    assert is_of_the_base()
    assert known.remote_pages()[OTHER] is before[OTHER]
    known.record(renamed={HOME: OTHER, OTHER: HOME})
    assert is_of_the_base()
    known.record([agreed("other", "bb")], dropped=[HOME])
    assert is_of_the_base()
    before = known.remote_pages()
    with pytest.raises(RuntimeError):
        record_in_vain()
    assert known.remote_pages() == before
    assert is_of_the_base()


def test_mentions_are_those_of_the_pages_there_are(known: WikiState) -> None:
    known.record([agreed("home", f"![p]({PICTURE})"), agreed("b", f"{FOLDER}/b.png")])
    assert known.mentions() == (f"{FOLDER}/b.png", PICTURE)
    known.record(dropped=[model.Slug("b")])
    assert known.mentions() == (PICTURE,)


def test_attachments_are_remembered(known: WikiState) -> None:
    changed = model.LooseFile(PICTURE, model.Digest("b" * 64), 7)
    another = model.AttachmentPath(f"{FOLDER}/q.png")
    gone = FetchedFile(another, model.Digest("a" * 64), None)
    picture = FetchedFile(PICTURE, model.Digest("a" * 64), changed)
    known.record_attachments([picture, gone])
    assert known.attachments() == {PICTURE: picture, another: gone}


def test_mark_of_the_wiki_holds_but_for_pages_that_the_base_has_otherwise(
    known: WikiState,
) -> None:
    """Or a wiki that went back to an old state would be taken for the new one."""
    known.record([agreed("old", "text"), agreed("gone", "text")])
    known.remember(remote_tag='W/"1"', remote_again=frozenset({model.Slug("waits")}))
    known.record([agreed("home", "text")])
    assert known.memory.remote_tag == 'W/"1"'
    assert known.memory.remote_again == {"waits", "home"}
    known.record(
        dropped=[model.Slug("gone")], renamed={model.Slug("old"): model.Slug("new")}
    )
    assert known.memory.remote_again == {"waits", "home", "gone", "old", "new"}


def test_mark_of_the_wiki_ends_where_it_would_stand_for_little(
    known: WikiState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreements, "PAGES_AGAIN_MAX", 1)
    known.remember(remote_tag="mark")
    known.record([agreed("home", "text")])
    assert known.memory.remote_tag
    known.record([agreed("other", "text")])
    assert not known.memory.remote_tag


def test_what_is_begun_anew_knows_nothing_of_the_old_wiki_but_its_journal(
    state: State, known: WikiState
) -> None:
    known.remember(remote_id="7")
    known.remember(left_out=None)
    known.note(1.0, HOME, "pulled")
    known.record([agreed("home", "text")])
    known.record_attachments([FetchedFile(PICTURE, model.Digest("a" * 64), None)])
    known.remember(remote_tag="mark")
    known.remember(troubles=(model.Problem("page-unwritable", "home", "read-only"),))
    assert known.base()
    assert known.memory.troubles
    other = state.begin_anew(OWNER)
    assert state.wiki(OWNER) is other
    assert not other.memory.troubles
    assert not other.base()
    assert not other.attachments()
    assert not other.memory.remote_tag
    assert not other.memory.left_out
    assert not other.memory.remote_id
    assert [one.what for one in other.events(1)] == ["pulled"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a": "x"}, {"b": "x"}, id="path corrected"),
        pytest.param({"a": "x"}, {"a": "y"}, id="folder renamed"),
        pytest.param({"a": "x", "b": "y"}, {"b": "x", "a": "y"}, id="swapped"),
        pytest.param({"a": "x", "b": "y"}, {"b": "x"}, id="path of a wiki left out"),
    ],
)
def test_row_follows_its_folder(
    state: State, before: dict[str, str], after: dict[str, str]
) -> None:
    def configured(folders: dict[str, str]) -> dict[model.WikiOwner, str]:
        return {
            model.WikiOwner("project", path): name for path, name in folders.items()
        }

    state.follow_folders(configured(before))
    for owner, folder in configured(before).items():
        state.wiki(owner).record([agreed("home", folder)])
    state.follow_folders(configured(after))
    known = {
        folder: state.wiki(o).text(HOME) for o, folder in configured(after).items()
    }
    assert known == ({"y": "x"} if after == {"a": "y"} else {f: f for f in known})


def test_rows_of_a_workspace_are_looked_for_once(state: State) -> None:
    folders = {model.WikiOwner("project", name): name for name in ("a", "b", "c")}
    state.follow_folders(folders)
    numbers = [state.wiki(owner).number for owner in folders]
    asked: list[str] = []
    state._wikis.clear()
    state._database._connection.set_trace_callback(asked.append)
    state.follow_folders(folders)
    assert [state.wiki(owner).number for owner in folders] == numbers
    assert sum(one.startswith("SELECT") for one in asked) == 1


def test_rows_that_another_process_gives_to_others_meanwhile_are_read_anew(
    path: Path,
) -> None:
    one, two = (model.WikiOwner("project", name) for name in ("one", "two"))
    with State.open(path) as state, State.open(path, is_held=False) as other:
        state.follow_folders({one: "x", two: "y"})
        connection = state._database._connection

        def swap(statement: str) -> None:
            if "data_version" in statement:
                connection.set_trace_callback(None)
                other.follow_folders({two: "x", one: "y"})

        connection.set_trace_callback(swap)
        state.follow_folders({one: "x", two: "y"})
        with State.copy(path, is_live=True) as now:
            assert state.wiki(one).number == now.wiki(one).number


def test_thousands_of_wikis_are_found_with_one_query(path: Path) -> None:
    """A query for each walked all rows: ``log`` took 8 s with 8,600 wikis."""
    owners = [model.WikiOwner("project", f"docs/w{number}") for number in range(40)]
    with State.open(path) as state:
        state.follow_folders({owner: owner.full_path for owner in owners})
        asked: list[str] = []
        state._database._connection.set_trace_callback(asked.append)
        numbers = {state.wiki(owner).number for owner in owners}
        assert len(numbers) == len(owners)
        assert sum("FROM wiki" in statement for statement in asked) == 1


def test_row_that_another_process_made_is_found(path: Path) -> None:
    with State.open(path) as one, State.open(path) as two:
        one.wiki(OWNER)
        other = model.WikiOwner("project", "docs/other")
        made = two.wiki(other).number
        assert one.wiki(other).number == made


def test_what_is_remembered_of_thousands_of_wikis_is_read_once(state: State) -> None:
    """Each wiki remembers where it was found, and read what all others do."""
    asked: list[str] = []
    state.remember("before", "1")
    state._database._connection.set_trace_callback(asked.append)
    for name in ("a", "b", "c"):
        assert not state.recalled(name)
        state.remember(name, name)
    assert [state.recalled(name) for name in ("before", "a", "c")] == ["1", "a", "c"]
    assert sum("FROM workspace" in statement for statement in asked) == 1


def test_what_was_not_written_is_not_remembered(state: State) -> None:
    state.remember("name", "old")
    assert state.recalled("name") == "old"

    def remember_in_vain() -> None:
        with state._database.transaction():
            state.remember("name", "new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        remember_in_vain()
    assert state.recalled("name") == "old"


# -- damage ------------------------------------------------------------------------


def test_what_another_process_wrote_is_noticed(path: Path) -> None:
    with State.open(path) as ours:
        before = ours.seen_writes()
        ours.wiki(OWNER).remember(paused="ours")
        assert ours.seen_writes() == before
        with State.open(path) as theirs:
            theirs.wiki(OWNER).remember(paused="theirs")
        assert ours.seen_writes() != before


def test_damaged_file_is_set_aside_and_made_anew(path: Path) -> None:
    path.write_bytes(b"this is no database at all, " * 100)
    with State.open(path) as state:
        assert state.set_aside == path.with_name("state.db.set-aside-1")
        assert not state.wiki(OWNER).base()
    assert state.set_aside is not None
    assert state.set_aside.read_bytes().startswith(b"this is no database")


def test_second_damaged_file_does_not_replace_the_first(path: Path) -> None:
    path.with_name("state.db.set-aside-1").write_text("the first")
    path.write_bytes(b"not a database either" * 100)
    State.open(path).close()
    assert path.with_name("state.db.set-aside-1").read_text() == "the first"
    assert path.with_name("state.db.set-aside-2").exists()


def test_damage_in_the_middle_is_noticed_on_opening(path: Path) -> None:
    with State.open(path) as state:
        state.wiki(OWNER).record([agreed(f"p{n}", str(n) * 99) for n in range(2000)])
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 9000] = b"\xff" * 9000
    path.write_bytes(content)
    with State.open(path) as again:
        assert again.set_aside is not None


@pytest.mark.parametrize("version", [-1, 2, 15])
def test_file_of_another_version_is_set_aside_and_made_anew(
    path: Path, version: int
) -> None:
    with State.open(path) as state:
        state.wiki(OWNER).record([agreed("home", "text")])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StateDamaged, match="of another version of wikisync"):
        State.copy(path, is_live=False)
    assert path.exists()
    with State.open(path) as anew:
        assert anew.set_aside == path.with_name("state.db.set-aside-1")
        assert not anew.wiki(OWNER).base()
    with State.open(path) as again:
        assert again.set_aside is None


def test_other_tables_are_another_version(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_state, "FIELDS", (*FIELDS, "of_a_later_version"))
    base_state.schema.cache_clear()
    State.open(path).close()
    monkeypatch.undo()
    base_state.schema.cache_clear()
    with State.open(path) as anew:
        assert anew.set_aside == path.with_name("state.db.set-aside-1")


def test_folder_that_is_missing_is_an_error_with_the_path(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "state.db"
    with pytest.raises(StateError, match="nowhere"):
        State.open(missing)


def test_state_of_another_disk_is_another_one_though_its_inode_is_the_same(
    tmp_path: Path,
) -> None:
    """A disk that is mounted over the folder counts its inodes from the same number."""
    mount = ["mount", "-t", "tmpfs", "none", str(tmp_path)]
    script = (
        "import subprocess, sys; from pathlib import Path\n"
        "from wikisync.sync.base.state import State\n"
        f"path, mount = Path({str(tmp_path)!r}) / 'state.db', {mount}\n"
        "subprocess.run(mount, check=True)\n"
        "with State.open(path) as state:\n"
        "    before = path.stat().st_ino, state.is_replaced\n"
        "    subprocess.run(mount, check=True)\n"
        "    path.touch()\n"
        "    print(*before, path.stat().st_ino, state.is_replaced)\n"
    )
    if (unshare := shutil.which("unshare")) is None:
        pytest.skip("nothing can be mounted here")
    words = [unshare, "-rm", sys.executable, "-c", script]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare: " in ran.stderr or "mount: " in ran.stderr:
        pytest.skip("nothing can be mounted here")
    inode, was_replaced, other, is_replaced = ran.stdout.split()
    assert (inode, was_replaced, is_replaced) == (other, "False", "True"), ran.stderr
