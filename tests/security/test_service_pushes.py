"""A push that is too much is refused with its reason, and changes nothing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pygit2
import pytest

from tests.security import service_pushes as attack
from tests.security.service_requests import Sent, send
from tests.support.git import needs_git
from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import WikiOwner
from wikisync.service.settings import GitService, Limits, Settings

pytestmark = needs_git
BOOK = WikiOwner("project", "docs/book")
WIKIS = "/api/v4/projects/docs%2Fbook/wikis"
SMALL = Settings(
    limits=Limits(entries_max=5000),
    git=GitService(
        references_max=5,
        objects_max=200,
        file_bytes_max=1_000_000,
        files_bytes_max=1_500_000,
    ),
)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A wiki that takes little."""
    async with embedded_service(tmp_path, settings=SMALL) as running:
        await running.add_project("docs/book", {"home": "x"}, visibility="public")
        yield running


@pytest.fixture
def evil(tmp_path: Path) -> pygit2.Repository:
    """Where a push is made."""
    return attack.repository_in(tmp_path / "evil.git")


async def refused(service: EmbeddedService, evil: pygit2.Repository) -> str:
    """What git shows of a push that must change nothing."""
    stored = stored_objects(await folder_of(service))
    ran = await attack.push(Path(evil.path), service.git_url(BOOK))
    assert ran.code == 1
    assert "[remote rejected]" in ran.err
    assert await service.files(BOOK) == {"home.md": b"x"}
    assert stored_objects(await folder_of(service)) == stored
    assert list(service.running.spool.rglob("*")) == []
    return ran.err


async def folder_of(service: EmbeddedService) -> Path:
    """The repository of the wiki."""
    return (await service.wiki(BOOK)).repository.path


def stored_objects(folder: Path) -> set[Path]:
    """Every file of a repository's objects."""
    return {path for path in (folder / "objects").rglob("*") if path.is_file()}


@pytest.mark.parametrize("levels", [13, 30, 60])
async def test_tree_of_trees_is_refused(
    service: EmbeddedService, evil: pygit2.Repository, levels: int
) -> None:
    attack.commit(evil, attack.tree_of_trees(evil, levels))

    assert "there are more than 5,000 files and folders" in await refused(service, evil)


@pytest.mark.parametrize("depth", [65, 190])
async def test_deep_tree_is_refused(
    service: EmbeddedService, evil: pygit2.Repository, depth: int
) -> None:
    attack.commit(evil, attack.deep_tree(evil, depth))

    assert "folders are nested more than 64 deep" in await refused(service, evil)


async def test_tree_deeper_than_python_calls_is_refused(
    tmp_path: Path, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.deep_tree(evil, 5000))
    async with embedded_service(tmp_path) as service:
        await service.add_project("docs/book", {"home": "x"})

        assert "nested more than 64 deep" in await refused(service, evil)


async def test_objects_are_counted(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.many_files(evil, 200))

    assert "it has more than 200 objects" in await refused(service, evil)


async def test_file_that_swells_is_refused(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.swollen_file(evil, 1_000_001))

    assert "a file in it has more than 1,000,000 bytes" in await refused(service, evil)


async def test_files_that_swell_together_are_refused(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.swollen_file(evil, 900_000))
    attack.commit(evil, attack.swollen_file(evil, 900_001))

    assert "more than 1,500,000 bytes in all" in await refused(service, evil)


async def test_file_that_needs_more_memory_than_git_gets_is_refused(
    tmp_path: Path, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.swollen_file(evil, 200_000_000))
    settings = Settings(git=GitService(push_memory_bytes_max=64 * 1024 * 1024))
    async with embedded_service(tmp_path, settings=settings) as service:
        await service.add_project("docs/book", {"home": "x"})

        assert "Out of memory" in await refused(service, evil)


async def test_branches_are_counted(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.many_files(evil, 1))
    attack.name_many(evil, 6)

    ran = await attack.push(Path(evil.path), service.git_url(BOOK), "--all")

    assert "it names more than 5 branches" in ran.err
    repository = pygit2.Repository(str(await folder_of(service)))
    assert list(repository.branches.local) == ["main"]


@pytest.mark.parametrize("tag_count", [1, 3])
async def test_tag_of_a_commit_is_looked_into(
    service: EmbeddedService, evil: pygit2.Repository, tag_count: int
) -> None:
    target = attack.commit(evil, attack.deep_tree(evil, 65))
    kind = pygit2.enums.ObjectType.COMMIT
    for number in range(tag_count):
        name = f"t{number}"
        target = evil.create_tag(name, target, kind, attack.AUTHOR, "m")
        kind = pygit2.enums.ObjectType.TAG
    tag = f"refs/tags/t{tag_count - 1}"

    ran = await attack.push(Path(evil.path), service.git_url(BOOK), tag)

    assert "folders are nested more than 64 deep" in ran.err


async def test_what_is_within_the_limits_is_taken(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    attack.commit(evil, attack.deep_tree(evil, 64))

    ran = await attack.push(Path(evil.path), service.git_url(BOOK))

    assert ran.code == 0, ran.err
    assert set(await service.files(BOOK)) == {"d/" * 64 + "a.md"}


@pytest.mark.parametrize("kind", ["deep", "wide"])
async def test_wiki_that_is_too_much_already_says_so_and_is_mended_by_a_push(
    service: EmbeddedService, evil: pygit2.Repository, kind: str
) -> None:
    inside = pygit2.Repository(str(await folder_of(service)))
    tree = (
        attack.deep_tree(inside, 5000)
        if kind == "deep"
        else attack.tree_of_trees(inside, 60)
    )
    bad = attack.commit(inside, tree)
    asked = [
        Sent("GET", WIKIS),
        Sent("GET", f"{WIKIS}/home"),
        Sent("PUT", f"{WIKIS}/home", {"content": "y"}),
    ]
    broken = await send(service.url, asked, service.token)

    attack.commit(evil, attack.many_files(evil, 1))
    ran = await attack.push(Path(evil.path), service.git_url(BOOK))
    mended = await send(service.url, asked[:1], None)
    past = await send(service.url, [Sent("GET", f"{WIKIS}/home?version={bad}")], None)

    assert [answer.status for answer in broken] == [503, 503, 503]
    assert "the wiki cannot be read: " in broken[0].text
    assert ran.code == 0, ran.err
    assert (mended[0].status, '"slug":"0"' in mended[0].text) == (200, True)
    assert past[0].status == 503


async def test_commit_of_the_past_that_is_too_much_keeps_its_reader_alone(
    service: EmbeddedService, evil: pygit2.Repository
) -> None:
    """History is not walked when it comes, but when somebody asks for it."""
    bad = attack.commit(evil, attack.tree_of_trees(evil, 60))
    attack.commit(evil, attack.many_files(evil, 1))

    ran = await attack.push(Path(evil.path), service.git_url(BOOK))
    [now, past] = await send(
        service.url,
        [Sent("GET", f"{WIKIS}/0"), Sent("GET", f"{WIKIS}/0?version={bad}")],
        None,
    )

    assert ran.code == 0, ran.err
    assert (now.status, past.status) == (200, 503)
    assert past.seconds < 10
