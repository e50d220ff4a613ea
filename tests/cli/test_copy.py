"""``wikisync copy``: a wiki of one service becomes one of another."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import HANDBOOK
from wikisync.core.model import WikiOwner

HASH = "0123456789abcdef0123456789abcdef"
NEW = WikiOwner("project", "team/manual")
PAGES = {
    "home": f"![a](uploads/{HASH}/a%20b.png) [[uploads/{HASH}/a b.png]] [x](sub/one)\n",
    "sub/one": f"# One\n\n![a](uploads/{HASH}/a%20b.png) ![c](../pics/c.png)\n",
}


@pytest.fixture
async def other(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EmbeddedService]:
    """Another service, with a token of its own and a project without pages."""
    async with embedded_service(tmp_path_factory.mktemp("other")) as running:
        await running.add_project(NEW.full_path)
        monkeypatch.setenv("WIKISYNC_TO_TOKEN", running.token)
        yield running


@pytest.fixture
async def source(service: EmbeddedService) -> str:
    await service.add_project(HANDBOOK.full_path, PAGES)
    files = {f"uploads/{HASH}/a b.png": b"PNG", "pics/c.png": b"CCC"}
    await service.put_files(HANDBOOK, files)
    return f"{service.url}/{HANDBOOK.full_path}"


async def copy(run: Run, source: str, other: EmbeddedService, *words: str) -> Ran:
    return await run("copy", source, f"{other.url}/{NEW.full_path}", *words)


async def test_pages_and_attachments_arrive_with_a_yes_and_links_that_work(
    run: Run, source: str, other: EmbeddedService, tmp_path: Path
) -> None:
    dry = await copy(run, source, other)

    dry.ended(0, "run the same command with --yes")
    assert "create  home on the wiki" in dry.out
    assert "docs/handbook\tproject team/manual\t2\t2\t0\t0" in dry.out
    assert await other.files(NEW) == {}

    ran = await copy(run, source, other, "--yes")

    assert ran.code == 0, ran.err
    files = await other.files(NEW)
    assert {b"PNG", b"CCC"} <= {*files.values()}
    assert HASH not in "".join(files) + str(files["home.md"])
    back, token = tmp_path / "back", tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(other.token)
    wiki = f"{other.url}/{NEW.full_path}"
    cloned = await run("clone", wiki, back, "--token-file", token)
    assert cloned.code == 0, cloned.err
    assert (await run("check", back)).code == 0


@pytest.mark.parametrize("written", ["notes.md", "my%20notes.txt", "my notes.txt"])
async def test_attachment_with_the_name_of_a_page_stays_an_attachment(
    run: Run,
    source: str,
    other: EmbeddedService,
    service: EmbeddedService,
    written: str,
) -> None:
    """Beside the pages it would be one; the next copy uploads it once more for none.

    Another file of its folder stays one, and the service writes a name without spaces.
    """
    folder, name = f"uploads/{HASH[::-1]}", unquote(written)
    await service.put_file(HANDBOOK, f"{folder}/{name}", b"text\n")
    await service.put_file(HANDBOOK, f"{folder}/p.png", b"picture\n")
    link = f"[n]({folder}/{written}) ![p]({folder}/p.png)\n"
    await service.add_pages(HANDBOOK, {"sub/one": link})

    ran = await copy(run, source, other, "--yes")

    assert ran.code == 0, ran.err
    files = await other.files(NEW)
    (place,) = (path for path in files if path.endswith(name.replace(" ", "_")))
    assert (place.split("/")[0], files[place]) == ("uploads", b"text\n")
    (picture,) = (path for path in files if path.endswith("p.png"))
    assert files["sub/one.md"].decode() == f"[n]({place}) ![p]({picture})\n"
    assert "docs/handbook\tproject team/manual\t2\t2\t0\t0" in ran.out
    await copy(run, source, other, "--yes")
    assert await other.files(NEW) == files


async def test_next_copy_carries_on(
    run: Run, source: str, other: EmbeddedService, service: EmbeddedService
) -> None:
    await copy(run, source, other, "--yes")
    await other.add_pages(NEW, {"home": "edited there\n", "own": "theirs\n"})
    await service.add_pages(HANDBOOK, {"sub/one": "# Two\n", "new": "new\n"})

    ran = await copy(run, source, other, "--yes")

    assert "docs/handbook\tproject team/manual\t3\t2\t0\t0" in ran.out, ran.err
    files = await other.files(NEW)
    assert (files["sub/one.md"], files["new.md"]) == (b"# Two\n", b"new\n")
    assert (files["home.md"], files["own.md"]) == (b"edited there\n", b"theirs\n")


async def test_page_that_the_target_has_already_is_held(
    run: Run, source: str, other: EmbeddedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await other.add_pages(NEW, {"home": "theirs\n"})

    ran = await copy(run, source, other, "--yes")

    assert ran.code == 3
    assert (await other.files(NEW))["home.md"] == b"theirs\n"
    assert "docs/handbook\tproject team/manual\t2\t1\t1\t0" in ran.out
    (workspace,) = re.findall(r"pages of TO in (.*/target)\n", ran.err)
    monkeypatch.setenv("WIKISYNC_TOKEN", other.token)
    resolved = await run("resolve", "home", "--wiki", "-C", workspace)
    assert resolved.code == 0, resolved.err


async def test_token_of_one_service_is_not_sent_to_the_other(
    run: Run, source: str, other: EmbeddedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WIKISYNC_TO_TOKEN")

    ran = await copy(run, source, other, "--yes")

    assert (ran.code, "there is no token for TO" in ran.err) == (2, True)
