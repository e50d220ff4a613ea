"""Whether a wiki's newest commit follows another one, against the embedded service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from tests.api.wire import Wire, http
from tests.support.git import clone, commit_and_push, needs_git, run_git
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api import git
from wikisync.api.client import Client
from wikisync.api.exchange import Answer, Request
from wikisync.api.git import ADVERTISEMENT, WikiHistory
from wikisync.api.trees import objects_in
from wikisync.core.git_trees import Unexplained
from wikisync.core.model import WikiOwner, digest_of

pytestmark = needs_git

OWNER = WikiOwner("project", "docs/handbook")
COMMITS = 12


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "hello"})
        await running.put_file(OWNER, "uploads/a/p.bin", bytes(range(256)) * 4096)
        for number in range(COMMITS):
            await running.put_file(OWNER, "home.md", f"text {number}".encode())
        yield running


@pytest.fixture
async def client(service: EmbeddedService, time: FakeTime) -> AsyncIterator[Client]:
    async with Client(service.url, service.token, clock=time.clock) as opened:
        yield opened


@pytest.fixture
async def cloned(service: EmbeddedService, tmp_path: Path) -> Path:
    address = service.git_url(OWNER)
    return await clone(address, tmp_path / "cloned")


async def commits_of(cloned: Path) -> list[str]:
    """Every commit of a clone, the newest first."""
    return (await run_git("rev-list", "HEAD", folder=cloned)).out.split()


async def commits_in(history: WikiHistory, head: str) -> tuple[set[str], int]:
    """What a fetch gives to one whose commit the service does not know, and bytes."""
    sizes: list[int] = []
    send = history._client.send

    async def counted(request: Request) -> Answer:
        answer = await send(request)
        sizes.append(len(answer.body))
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(history._client, "send", counted)
        found = await history._fetched(head, "ab" * 20, filter_="tree:0")
    return set(found.parents()), sum(sizes)


async def is_after(client: Client, earlier: str) -> bool | None:
    history = WikiHistory(client, OWNER)
    head = await history.head()
    assert head
    return await history.follows(head, earlier)


async def test_a_later_commit_follows_each_earlier_one(
    client: Client, cloned: Path
) -> None:
    _, *earlier = await commits_of(cloned)
    assert len(earlier) > COMMITS
    assert [await is_after(client, one) for one in earlier] == [True] * len(earlier)


@pytest.mark.parametrize("steps", [1, 2, 5])
async def test_a_commit_pushed_by_force_does_not(
    client: Client, cloned: Path, steps: int
) -> None:
    """Also while the service still has what was taken back."""
    head = (await commits_of(cloned))[0]
    await run_git("reset", "-q", "--hard", f"HEAD~{steps}", folder=cloned)
    pushed = await run_git("push", "-q", "--force", folder=cloned)
    assert pushed.code == 0, pushed.err
    assert await is_after(client, head) is False


async def test_nor_does_what_is_edited_on_top_of_that(
    client: Client, cloned: Path
) -> None:
    head = (await commits_of(cloned))[0]
    await run_git("reset", "-q", "--hard", "HEAD~2", folder=cloned)
    (cloned / "home.md").write_text("another\n")
    assert (await commit_and_push(cloned, "--force")).code == 0
    assert await is_after(client, head) is False


async def test_nor_does_a_restored_wiki_that_never_had_the_commit(
    client: Client,
) -> None:
    assert await is_after(client, "ab" * 20) is False


async def test_both_sides_of_a_merge_come_before_it(
    client: Client, cloned: Path
) -> None:
    base = (await commits_of(cloned))[3]
    await run_git("checkout", "-q", "-b", "side", base, folder=cloned)
    (cloned / "side.md").write_text("side\n")
    await run_git("add", "--all", folder=cloned)
    await run_git("commit", "-q", "-m", "side", folder=cloned)
    side = (await commits_of(cloned))[0]
    await run_git("checkout", "-q", "-", folder=cloned)
    await run_git("merge", "-q", "--no-edit", side, folder=cloned)
    assert (await run_git("push", "-q", folder=cloned)).code == 0
    assert await is_after(client, side) is True


async def test_only_commits_are_sent(client: Client, cloned: Path) -> None:
    """The picture of a mebibyte stays where it is."""
    history = WikiHistory(client, OWNER)
    head = await history.head()
    assert head
    commits, size = await commits_in(history, head)
    assert size < 400 * (COMMITS + 2)
    assert commits == set(await commits_of(cloned))


async def test_a_server_that_cannot_leave_files_out_is_understood_too(
    client: Client, cloned: Path
) -> None:
    history = WikiHistory(client, OWNER)
    head = await history.head()
    assert head
    history._can_filter = False
    commits, _ = await commits_in(history, head)
    assert commits == set(await commits_of(cloned))
    assert await history.follows(head, (await commits_of(cloned))[-1]) is True


async def test_commits_that_are_deltas_of_others_are_read(
    service: EmbeddedService, client: Client, cloned: Path
) -> None:
    """Git packs commits with long, similar messages so."""
    message = "\n".join(digest_of(str(number)) for number in range(60))
    for number in range(6):
        (cloned / "home.md").write_text(f"edit {number}\n")
        words = ("commit", "-q", "-a", "-m", f"{number} {message}")
        assert (await run_git(*words, folder=cloned)).code == 0
    assert (await run_git("push", "-q", folder=cloned)).code == 0
    wiki = await service.wiki(OWNER)
    repository = wiki.repository.path
    repacked = await run_git("repack", "-a", "-d", "-f", "-q", folder=repository)
    assert repacked.code == 0, repacked.err
    commits = await commits_of(cloned)
    history = WikiHistory(client, OWNER)
    head = await history.head()
    assert head == commits[0]
    found, size = await commits_in(history, head)
    assert size < 2 * len(message)
    assert found == set(commits)


async def test_history_that_is_too_long_is_not_known(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "HISTORY_BYTES_MAX", 100)
    assert await is_after(client, "ab" * 20) is None


async def test_the_same_question_is_asked_once(wired: Client, wire: Wire) -> None:
    head = "ab" * 20
    line = f"{head} HEAD\0filter agent=x\n"
    wire.will(http(200, f"{len(line) + 4:04x}{line}0000".encode(), ADVERTISEMENT))
    wire.will(http(200, b"0008NAK\nPACK\0\0\0\2\0\0\0\0" + bytes(20)))
    history = WikiHistory(wired, OWNER)
    assert await history.head() == head
    for _ in range(2):
        assert await history.follows(head, "cd" * 20) is False
    asked, fetched = wire.requests
    assert (fetched.method, fetched.target) == (
        "POST",
        "/docs/handbook.wiki.git/git-upload-pack",
    )
    # git's side of the service knows passwords only
    assert fetched.headers["authorization"] == asked.headers["authorization"]
    assert "private-token" not in fetched.headers


async def test_a_limit_of_git_is_not_waited_for(
    wired: Client, wire: Wire, time: FakeTime
) -> None:
    """The cycle goes on by texts alone."""
    head = "ab" * 20
    line = f"{head} HEAD\0filter agent=x\n"
    wire.will(http(200, f"{len(line) + 4:04x}{line}0000".encode(), ADVERTISEMENT))
    wire.will(http(429, Retry_After="30"))
    history = WikiHistory(wired, OWNER)
    assert await history.head() == head
    assert await history.follows(head, "cd" * 20) is None
    assert not time.slept
    assert len(wire.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"000eERR no such",
        b"0008NAK\nPACK\0\0\0\2\0\0\0\1",
        b"0008NAK\nPACK\0\0\0\2\0\0\0\1\x95\x0anothing",
        b"0008NAK\nPACK\0\0\0\2\0\0\0\1\x65\x0a",
        b"0008NAK\nPACK\0\0\0\2\0\0\0\1\xff",
    ],
)
def test_what_is_no_pack_is_an_error(answer: bytes) -> None:
    with pytest.raises(Unexplained):
        objects_in(answer, id_bytes=20)
