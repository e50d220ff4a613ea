"""Objects of git's protocol, pages that two trees differ in, and trees in a file."""

import threading
import tracemalloc
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.git import commit_and_push, needs_git, run_git
from tests.support.git_http import git_server
from wikisync.api import trees
from wikisync.api import trees as packs
from wikisync.api.client import Client
from wikisync.api.git import WikiHistory
from wikisync.api.known import TreeCache
from wikisync.api.trees import (
    file_id,
    file_of,
    id_of,
    objects_in,
    page_changes,
    reachable,
)
from wikisync.core.git_trees import TreeMissing, Unexplained
from wikisync.core.model import Slug, WikiOwner
from wikisync.core.system import private
from wikisync.core.system.private import read_private_file

Tree = Mapping[str, "str | Tree"]
"""Names with a text, or with what is below them."""
LINK = "-> "
"""What a text begins with that is the target of a link."""


class Trees:
    """Tree objects of nested mappings."""

    def __init__(self, id_bytes: int = 20) -> None:
        self.held: dict[bytes, bytes] = {}
        self._id_bytes = id_bytes

    def add(self, tree: Tree) -> bytes:
        """The id of a tree."""
        content = b""
        for name, below in sorted(tree.items()):
            if isinstance(below, str):
                mode = "120000" if below.startswith(LINK) else "100644"
                one = id_of(b"blob", below.encode(), self._id_bytes)
            else:
                mode, one = "40000", self.add(below)
            content += f"{mode} {name}".encode("utf-8", "surrogateescape") + b"\0" + one
        return self.put(content)

    def put(self, content: bytes) -> bytes:
        name = id_of(b"tree", content, self._id_bytes)
        self.held[name] = content
        return name


def changes(before: Tree, after: Tree, id_bytes: int = 20) -> tuple[set[str], set[str]]:
    made = Trees(id_bytes)
    old, new = made.add(before), made.add(after)
    found = page_changes(made.held, old, new)
    return set(found.there), set(found.gone)


CASES: list[tuple[Tree, Tree, set[str], set[str]]] = [
    ({"a.md": "1"}, {"a.md": "1"}, set(), set()),
    ({"a.md": "1"}, {"a.md": "2"}, {"a"}, set()),
    ({}, {"a.MD": "1"}, {"a"}, set()),
    ({"a.md": "1"}, {}, set(), {"a"}),
    ({"a.md": "1"}, {"a.org": "1"}, {"a"}, set()),
    ({"a.rst.txt": "1"}, {"a.rst": "1"}, {"a"}, set()),
    ({"a": {"b.md": "1"}}, {"c": {"b.md": "1"}}, {"c/b"}, {"a/b"}),
    ({"a": {"b.md": "1"}}, {"a": {"b.md": "1", "c.md": "2"}}, {"a/c"}, set()),
    ({"a": {"b.md": "1"}}, {"a": "no page"}, set(), {"a/b"}),
    ({"a.md": {"b.md": "1"}}, {"a.md": "1"}, {"a"}, {"a.md/b"}),
    ({}, {"a.png": "1", ".gitlab": {"redirects.yml": "1"}, ".md": "1"}, set(), set()),
    (
        {},
        {"uploads": {"a.md": "1"}, "d": {"uploads": {"a.md": "1"}}},
        {"d/uploads/a"},
        set(),
    ),
]


@pytest.mark.parametrize("id_bytes", [20, 32])
@pytest.mark.parametrize(("before", "after", "there", "gone"), CASES)
def test_pages_that_differ(
    before: Tree, after: Tree, there: set[str], gone: set[str], id_bytes: int
) -> None:
    assert changes(before, after, id_bytes) == (there, gone)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"a.md": "1", "a.org": "1"}),
        ({"a.org": "1"}, {"a.md": "1", "a.org": "1"}),
        ({"a.md": "1", "a.org": "1"}, {"a.md": "1"}),
        ({}, {"a.md": f"{LINK}b.md"}),
        ({}, {"a": f"{LINK}b"}),
        ({}, {"\udcff.md": "1"}),
    ],
)
def test_what_trees_do_not_explain_is_odd(before: Tree, after: Tree) -> None:
    with pytest.raises(Unexplained):
        changes(before, after)


def test_trees_that_hold_each_other_many_times_are_not_walked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trees, "ENTRIES_MAX", 10_000)
    made = Trees()
    root = made.add({"a.md": "1"})
    for _ in range(20):
        entries = (b"40000 %d\0%s" % (number, root) for number in range(9))
        root = made.put(b"".join(entries))
    with pytest.raises(Unexplained, match="more directories"):
        page_changes(made.held, made.add({}), root)
    assert len(reachable(made.held, root)) == 21


@pytest.mark.parametrize(
    "content",
    [b"40000", b"40000 a\0short", b"x" * 40, b"\0 a\0", b"4x a\0" + b"i" * 20],
)
def test_tree_that_is_damaged_is_missing(content: bytes) -> None:
    made = Trees()
    with pytest.raises(TreeMissing):
        page_changes(made.held, made.add({}), made.put(content))


def test_mode_may_begin_with_a_zero() -> None:
    """As old tools wrote the mode of a directory."""
    made = Trees()
    folder = made.add({"a.md": "text"})
    padded = made.put(b"040000 dir\0" + folder)
    assert set(page_changes(made.held, made.add({}), padded).there) == {"dir/a"}


def test_page_is_found_by_its_name() -> None:
    made = Trees()
    root = made.add({"a": {"b.md": "1"}, "c.md": {}})
    found = [
        s for s in ("a/b", "a", "b", "c", "a/b/c") if file_of(made.held, root, Slug(s))
    ]
    assert found == ["a/b"]


# -- from a git server ---------------------------------------------------------------


@needs_git
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
async def test_trees_come_from_any_git_server(kind: str, tmp_path: Path) -> None:
    """One with ids of either length, that cannot leave files out."""
    bare, work = tmp_path / "served" / "docs" / "handbook.wiki.git", tmp_path / "work"
    for words in (("--bare", bare), (work,)):
        made = await run_git("init", "-q", f"--object-format={kind}", *words)
        assert made.code == 0, made.err
    await run_git("remote", "add", "origin", str(bare), folder=work)
    (work / "d").mkdir()
    (work / "d" / "a.md").write_text("1\n")
    (work / "b.md").write_text("1\n")
    assert (await commit_and_push(work, "-u", "origin", "HEAD")).code == 0
    cache = TreeCache(tmp_path / "cache" / "trees")
    async with git_server(tmp_path / "served") as url, Client(url) as client:
        history = WikiHistory(client, WikiOwner("project", "docs/handbook"))
        first = await history.head()
        assert first
        await history.bring_trees(first, cache)
        before = cache.root
        (work / "d" / "a.md").write_text("2\n")
        assert (await commit_and_push(work)).code == 0
        second = await history.head()
        assert second
        await history.bring_trees(second, cache)
        assert await history.follows(second, first) is True
    assert len(second) == (40 if kind == "sha1" else 64)
    found = page_changes(cache.trees, before, cache.root)
    assert found.there == {"d/a": file_id("2\n", len(second) // 2)}


# -- in a file -----------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "wiki.trees"


def test_trees_of_the_last_commit_come_back(file: Path) -> None:
    for number in range(5):
        cache, made = TreeCache(file), Trees()
        root = made.add({"a": {"b.md": str(number)}, "c": {"d.md": "1"}})
        cache.take(f"{number}", root, made.held)
    later = TreeCache(file)
    assert later.load("4") == root
    assert reachable(later.trees, root) == reachable(made.held, root)
    with pytest.raises(TreeMissing):
        TreeCache(file).load("5")
    assert file.stat().st_mode & 0o077 == 0


def test_file_that_ends_in_the_middle_is_made_anew(file: Path) -> None:
    cache, made = TreeCache(file), Trees()
    first, second = (made.add({"a.md": text}) for text in "12")
    cache.take("1", first, made.held)
    file.write_bytes(file.read_bytes()[:-9])
    cache = TreeCache(file)
    with pytest.raises(TreeMissing):
        cache.load("1")
    cache.take("2", second, made.held)
    assert TreeCache(file).load("2") == second


def test_trees_that_are_not_all_there_are_not_taken(file: Path) -> None:
    cache, made = TreeCache(file), Trees()
    below = made.add({"b.md": "1"})
    root = made.add({"a": {"b.md": "1"}})
    del made.held[below]
    for one in (root, None):
        with pytest.raises(TreeMissing):
            cache.take("1", one, made.held)
    assert not cache.head
    assert not file.exists()


def test_damaged_tree_is_not_believed(file: Path) -> None:
    cache, made = TreeCache(file), Trees()
    cache.take("1", made.add({"name.md": "1"}), made.held)
    file.write_bytes(file.read_bytes().replace(b"name", b"eman"))
    with pytest.raises(TreeMissing):
        TreeCache(file).load("1")


def test_file_that_cannot_be_written_leaves_nothing_beside_it(file: Path) -> None:
    file.mkdir(parents=True)
    cache, made = TreeCache(file), Trees()
    cache.take("1", made.add({"a.md": "1"}), made.held)
    assert cache.load("1")
    assert list(file.parent.iterdir()) == [file]


def test_thread_waits_for_the_one_that_reads_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Trees()
    root = made.add({"a.md": "1"})
    TreeCache(file).take("1", root, made.held)
    reads: list[Path] = []
    is_reading, has_second = threading.Event(), threading.Event()

    def read_slowly(path: Path, bytes_max: int) -> bytes:
        reads.append(path)
        is_reading.set()
        assert has_second.wait(60)
        return read_private_file(path, bytes_max)

    monkeypatch.setattr(private, "read_private_file", read_slowly)
    cache = TreeCache(file)

    def load_second() -> bytes | None:
        has_second.set()
        return cache.load("1")

    with ThreadPoolExecutor() as threads:
        first = threads.submit(cache.load, "1")
        assert is_reading.wait(60)
        second = threads.submit(load_second)
    assert first.result() == second.result() == root
    assert reads == [file]


def test_file_is_left_as_it_is_where_nothing_may_change(file: Path) -> None:
    made = Trees()
    TreeCache(file).take("1", made.add({"a.md": "1"}), made.held)
    before = file.read_bytes()
    looking = TreeCache(file, is_kept=False)
    looking.load("1")
    looking.take("2", made.add({"a.md": "2"}), made.held)
    assert file.read_bytes() == before
    assert looking.head == "2"


def test_disk_that_takes_nothing_costs_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    cache, made = TreeCache(tmp_path / "cache" / "wiki.trees"), Trees()
    root = made.add({"a.md": "1"})
    for head in "12":
        cache.take(head, root, made.held)
        assert cache.load(head) == root


COMMIT, TREE, DELTA = 1, 2, 7
MIB = 1 << 20
BYTES_MAX = 4 * MIB


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "CONTENT_BYTES_MAX", BYTES_MAX)


def number(value: int) -> bytes:
    """A size in a delta: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def entry(kind: int, content: bytes, base: bytes = b"") -> bytes:
    size = len(content)
    first, size = kind << 4 | size & 0x0F, size >> 4
    head = bytes([first | 0x80]) + number(size) if size else bytes([first])
    return head + base + zlib.compress(content)


def answer(*entries: bytes) -> bytes:
    count = len(entries).to_bytes(4, "big")
    return b"0008NAK\nPACK\0\0\0\2" + count + b"".join(entries) + bytes(20)


def delta(base: bytes, size: int, steps: bytes) -> bytes:
    return number(len(base)) + number(size) + steps


def test_a_delta_is_applied() -> None:
    base = b"100644 a.md\0" + bytes(20)
    added = b"100644 b.md\0" + bytes(20)
    steps = bytes([0x90, len(base), len(added)]) + added
    whole = base + added

    name = id_of(b"tree", base, 20)
    found = objects_in(
        answer(entry(DELTA, delta(base, len(whole), steps), name), entry(TREE, base)),
        id_bytes=20,
    )

    assert found.trees[id_of(b"tree", whole, 20)] == whole


@pytest.mark.parametrize("said", [100, BYTES_MAX, BYTES_MAX + 1])
def test_a_delta_that_makes_more_than_it_says_fills_no_memory(said: int) -> None:
    base = bytes(MIB)
    # each step copies 64 KiB: 64 GiB in all, in an answer of few kilobytes
    bomb = delta(base, said, b"\x80" * MIB)
    sent = answer(entry(TREE, base), entry(DELTA, bomb, id_of(b"tree", base, 20)))
    tracemalloc.start()
    try:
        with pytest.raises(Unexplained):
            objects_in(sent, id_bytes=20)
        assert tracemalloc.get_traced_memory()[1] < BYTES_MAX * 3
    finally:
        tracemalloc.stop()


def test_many_deltas_have_one_limit_together() -> None:
    base = bytes(MIB)
    half = BYTES_MAX // 2 + MIB
    copies = -(-half // 0x10000)
    name = id_of(b"tree", base, 20)
    large = [
        entry(DELTA, delta(base, copies * 0x10000 + 1, b"\x80" * copies + end), name)
        for end in (b"\x01a", b"\x01b")
    ]
    with pytest.raises(Unexplained, match="too large"):
        objects_in(answer(entry(TREE, base), *large), id_bytes=20)


@pytest.mark.parametrize("tree", [b"zz", b"", b"\xff" * 40])
def test_a_commit_whose_tree_has_no_id_is_an_error(tree: bytes) -> None:
    commit = b"tree " + tree + b"\nparent " + b"ab" * 20 + b"\n\nwords"
    found = objects_in(answer(entry(COMMIT, commit)), id_bytes=20)
    with pytest.raises(Unexplained):
        found.root_of(id_of(b"commit", commit, 20).hex())
