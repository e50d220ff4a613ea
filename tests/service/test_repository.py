"""One wiki's git repository: trees written as asked, nothing half done."""

import contextlib
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.flat_tree import FlatTree
from wikisync.service.committing import Author, GitRefused
from wikisync.service.editing import CommitPlan
from wikisync.service.repository import WikiRepository
from wikisync.service.tree import RepositoryFile, WikiTree

AUTHOR = Author("Dana", "dana@example.com")
NAMES = st.sampled_from(["a", "b.md", "é", "a-b", "a.b"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def write(
    repository: WikiRepository, files: dict[str, bytes], branch: str | None = None
) -> WikiTree:
    change = CommitPlan("write", writes=files)
    return repository.change(lambda _tree: change, AUTHOR, branch=branch)[2]


def contents(repository: WikiRepository) -> dict[str, bytes]:
    return {file.path: repository.read(file.blob) for file in repository.tree().files}


def is_possible(files: dict[str, bytes]) -> bool:
    return not any(other.startswith(path + "/") for path in files for other in files)


TWINS = st.sampled_from(["a", "A", "b.md", "B.md", "b.rst", "c.d", "é.md", "É", "ß"])


@given(
    st.lists(
        st.dictionaries(
            st.lists(TWINS, min_size=1, max_size=3).map("/".join),
            st.sampled_from([b"1", b"2"]),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=3,
    )
)
@example([{"a/b.md": b"1"}, {"a/b.md": b"2"}])
@example([{"a/b.md": b"1", "A/b.md": b"2"}])
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_index_kept_from_commit_to_commit_is_that_of_its_files(
    tmp_path_factory: pytest.TempPathFactory, commits: list[dict[str, bytes]]
) -> None:
    """Twins by case, in names of files and of directories, are found in tree order."""
    repository = WikiRepository(tmp_path_factory.mktemp("wiki") / "r.git")
    for files in commits:
        with contextlib.suppress(GitRefused):
            write(repository, files)
        tree = repository.tree()
        flat = FlatTree(tree.commit, WikiRepository(repository.path).tree().files)
        assert (tree.files, tree.pages) == (flat.files, flat.pages)
        paths = {path for known in commits for path in known} | {"a/b", "no", "ss"}
        ways = {way for path in paths for way in (path, path.rpartition("/")[0])} - {""}
        ways |= {page.slug for page in flat.pages}
        for way in ways | {way.upper() for way in ways}:
            assert tree.find(way) == flat.find(way)
            assert tree.twin_of(way) == flat.twin_of(way)
            assert tree.file(way) == flat.file(way)
            assert list(tree.below(way)) == list(flat.below(way))


def test_page_that_becomes_a_link_is_a_page_no_more(tmp_path: Path) -> None:
    """Same path and same bytes: only the mode tells."""
    repository = WikiRepository(tmp_path / "r.git")
    before = write(repository, {"a.md": b"b.md", "b.md": b"text"})
    link = RepositoryFile("a.md", before.page("a.md").blob, 0o120000)

    *_, after = repository.change(
        lambda _tree: CommitPlan("m", links={"a.md": link}), AUTHOR
    )

    assert [page.slug for page in after.pages] == ["b"]
    assert after.find("a") is None


@given(
    before=st.dictionaries(PATHS, st.binary(max_size=3), max_size=6),
    writes=st.dictionaries(PATHS, st.binary(max_size=3), max_size=4),
    removes=st.frozensets(PATHS, max_size=4),
)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_change_gives_the_files_it_says(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[str, bytes],
    writes: dict[str, bytes],
    removes: frozenset[str],
) -> None:
    """Directories come and go, files turn into directories and back."""
    repository = WikiRepository(tmp_path_factory.mktemp("wiki") / "r.git")
    before = before if is_possible(before) else {}
    removes = removes | frozenset(
        path
        for path in before
        for new in writes
        if path.startswith(new + "/") or new.startswith(path + "/")
    )
    wanted = {p: c for p, c in before.items() if p not in removes} | writes
    change = CommitPlan("m", writes=writes, removes=removes - writes.keys())

    write(repository, before)
    if is_possible(writes):
        repository.change(lambda _tree: change, AUTHOR)

    expected = wanted if is_possible(writes) else before
    assert contents(repository) == expected
    paths = [file.path for file in repository.tree().files]
    assert paths == sorted(paths, key=str.encode)


@pytest.mark.parametrize("path", ["a", "a/b/c"])
def test_nothing_is_replaced_that_was_not_removed(tmp_path: Path, path: str) -> None:
    repository = WikiRepository(tmp_path / "r.git")
    write(repository, {"a/b": b"kept"})
    with pytest.raises(GitRefused):
        write(repository, {path: b""})
    assert contents(repository) == {"a/b": b"kept"}


def test_refusal_of_git_does_not_say_where_the_data_is(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "x.git")
    change = CommitPlan("m", writes={"a.md": b"x"})
    with pytest.raises(GitRefused) as refused:
        repository.change(lambda _tree: change, AUTHOR, branch="b" * 300)
    assert str(tmp_path) not in str(refused.value)


def test_removing_a_file_never_takes_a_directory(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "r.git")
    write(repository, {"a/b": b"kept"})
    change = CommitPlan("m", removes=frozenset({"a"}))
    repository.change(lambda _tree: change, AUTHOR)
    assert contents(repository) == {"a/b": b"kept"}


def test_file_and_directory_of_one_name_are_refused(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "r.git")
    with pytest.raises(GitRefused):
        write(repository, {"a": b"", "a/b": b""})
    assert repository.tree().files == ()


def test_repository_comes_into_being_with_its_first_commit(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "wikis" / "r.git")

    assert repository.tree().commit is None
    assert repository.tree_at("main") is None
    assert repository.branch() == "main"
    assert not repository.path.exists()

    write(repository, {"a.md": b"x"})
    assert repository.path.exists()
    assert list(repository.path.parent.iterdir()) == [repository.path]


def test_another_process_sees_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "r.git"
    write(WikiRepository(path), {"d/a.md": b"x"})
    assert contents(WikiRepository(path)) == {"d/a.md": b"x"}


def test_push_from_outside_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "r.git"
    first, second = WikiRepository(path), WikiRepository(path)
    write(first, {"d/a.md": b"x"})
    first.tree()

    write(second, {"d/b.md": b"y"})

    assert contents(first) == {"d/a.md": b"x", "d/b.md": b"y"}


def test_commit_of_a_decision_that_refuses_is_not_made(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "r.git")

    def refuse(_tree: WikiTree) -> CommitPlan:
        raise LookupError

    with pytest.raises(LookupError):
        repository.change(refuse, AUTHOR)

    assert not repository.path.exists()


def test_repository_with_another_default_branch_is_read_from_it(tmp_path: Path) -> None:
    path = tmp_path / "r.git"
    pygit2.init_repository(str(path), bare=True, initial_head="master")
    repository = WikiRepository(path)

    write(repository, {"a.md": b"x"})

    assert repository.branch() == "master"
    assert contents(repository) == {"a.md": b"x"}
    assert repository.tree_at("main") is None


def test_name_that_is_not_utf8_is_left_out_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.git"
    git = pygit2.init_repository(str(path), bare=True, initial_head="main")
    blob = git.create_blob(b"x")
    raw = b"100644 \xff.md\0" + blob.raw
    tree = git.odb.write(pygit2.enums.ObjectType.TREE, raw)
    signature = pygit2.Signature("n", "e")
    git.create_commit("refs/heads/main", signature, signature, "m", tree, [])
    repository = WikiRepository(path)

    write(repository, {"a.md": b"y"})

    assert contents(repository) == {"a.md": b"y"}
    tip = pygit2.Repository(str(path)).revparse_single("main").peel(pygit2.Tree)
    assert len(tip) == 2


def test_stored_files_are_linked_without_being_stored_again(tmp_path: Path) -> None:
    repository = WikiRepository(tmp_path / "r.git")
    source = tmp_path / "a.md"
    source.write_bytes(b"x")

    stored = {"a.md": RepositoryFile("a.md", repository.store_file(source))}
    repository.change(lambda _tree: CommitPlan("m", links=stored), AUTHOR)
    objects = repository.path / "objects"
    before = sorted(objects.rglob("*"))
    repository.store_file(source)

    assert contents(repository) == {"a.md": b"x"}
    assert sorted(objects.rglob("*")) == before


@pytest.mark.parametrize("entry", [b"100644 a.md", b"1x0644 a.md\0" + b"i" * 20])
def test_push_with_a_damaged_tree_is_refused(tmp_path: Path, entry: bytes) -> None:
    repository = WikiRepository(tmp_path / "r.git")
    repository.ensure()
    path = tmp_path / "sent.git"
    sent = pygit2.init_repository(str(path), bare=True)
    tree = sent.odb.write(pygit2.enums.ObjectType.TREE, entry)
    commit = b"tree %s\nauthor n <e> 0 +0000\ncommitter n <e> 0 +0000\n\nm"
    tip = sent.odb.write(pygit2.enums.ObjectType.COMMIT, commit % str(tree).encode())

    with pytest.raises(GitRefused, match="what was sent cannot be read"):
        repository.check_pushed(path / "objects", [tip.raw])
