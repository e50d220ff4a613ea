"""``wikisync move-service``: configuration and records change together, or not."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.bending import bending_proxy
from tests.support.moved import (
    assert_all_is_carried,
    change_both_sides,
    configure,
    sync_for_long,
)
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.config import load_config
from wikisync.config.writing import with_service_url
from wikisync.errors import FolderError
from wikisync.sync.base.state import MOVING, State
from wikisync.workspace import moving


@pytest.fixture
async def new_url(service: EmbeddedService) -> AsyncIterator[str]:
    """Where the service is from now on."""
    async with bending_proxy(service.url) as proxy:
        yield proxy.url


def configured_url(cloned: Cloned) -> str:
    return load_config(cloned.root / "wikisync.toml").service.url


def recorded_urls(cloned: Cloned) -> set[str]:
    with cloned.state() as state:
        return {one.service_url for one in state.records() if one.pages}


async def test_without_a_yes_it_is_only_said(cloned: Cloned, new_url: str) -> None:
    old_url = cloned.service.url
    before = (cloned.root / "wikisync.toml").read_bytes()
    ran = await cloned.run("move-service", old_url, new_url)
    assert ran.code == 0
    assert "handbook: docs/handbook (id 1), 4 of 4 pages are the same" in ran.out
    assert f'url = "{new_url}" replaces "{old_url}"' in ran.out
    assert "the address of 1 record: the same" in ran.out
    assert "nothing was changed; run it again with --yes to make the change" in ran.err
    assert (cloned.root / "wikisync.toml").read_bytes() == before
    assert recorded_urls(cloned) == {old_url}


async def test_moved_service_keeps_everything_that_was_known(
    cloned: Cloned, new_url: str
) -> None:
    old_url = cloned.service.url
    file = cloned.root / "wikisync.toml"
    file.chmod(0o640)
    await change_both_sides(cloned, HANDBOOK)
    ran = await cloned.run("move-service", old_url + "/", new_url, "--yes")
    assert ran.code == 0, ran.err
    assert (configured_url(cloned), recorded_urls(cloned)) == (new_url, {new_url})
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    synced = await sync_for_long(cloned)
    assert "sync record" not in synced.err
    await assert_all_is_carried(cloned, HANDBOOK, synced)


async def test_address_of_another_service_is_refused(
    cloned: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedded_service(tmp_path / "other") as other:
        await other.add_project("docs/handbook", {"home": "another\n"})
        monkeypatch.setenv("WIKISYNC_TOKEN", other.token)
        ran = await cloned.run("move-service", cloned.service.url, other.url, "--yes")
        assert ran.code == 4
        assert f"{other.url} does not have the wikis of this workspace" in ran.err
        assert "0 of 4 pages are the same" in ran.err
        assert "--offline" in ran.err
    assert configured_url(cloned) == cloned.service.url
    assert recorded_urls(cloned) == {cloned.service.url}


async def test_wrong_old_address_and_the_same_one_are_refused(cloned: Cloned) -> None:
    url = cloned.service.url
    wrong = await cloned.run("move-service", "https://gitlab.example.com", url)
    same = await cloned.run("move-service", url, url + "/api/v4")
    assert (wrong.code, same.code) == (2, 2)
    assert f"the service of {cloned.root} is {url}" in wrong.err
    assert "is already the workspace's service" in same.err


@pytest.mark.parametrize("is_file_written", [False, True])
async def test_move_that_was_cut_is_undone_or_ended_by_the_next_sync(
    cloned: Cloned,
    new_url: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_file_written: bool,
) -> None:
    """What the file says counts; a look meanwhile knows all records, too."""
    old_url, write = cloned.service.url, moving._write

    def cut(*words: object) -> None:
        if is_file_written:
            write(*words)  # type: ignore[arg-type]
        raise FolderError("the power went off")

    with monkeypatch.context() as patched:
        patched.setattr(moving, "_write", cut)
        ran = await cloned.run("move-service", old_url, new_url, "--yes")
    assert ran.code == 1
    url = new_url if is_file_written else old_url
    assert configured_url(cloned) == url
    status = await cloned.run("status", "--offline")
    assert "handbook: 4 pages, no edits here" in status.out
    synced = await cloned.run("sync")
    assert (synced.code, synced.out, synced.err) == (
        *(0, "handbook: 4 pages, nothing to do\n"),
        "",
    )
    with State.open(cloned.root / ".wikisync/state.db", service_url=url) as state:
        assert state.recalled(MOVING) == ""
        assert {one.service_url for one in state.records() if one.pages} == {url}


async def test_what_was_begun_at_the_new_address_is_set_aside(
    cloned: Cloned, new_url: str
) -> None:
    old_url = cloned.service.url
    with State.open(cloned.root / ".wikisync/state.db", service_url=new_url) as state:
        state.wiki(HANDBOOK).note_remote_id("1")
    ran = await cloned.run("move-service", old_url, new_url, "--yes", "--offline")
    assert ran.code == 0, ran.err
    synced = await cloned.run("sync")
    assert (synced.code, synced.out) == (0, "handbook: 4 pages, nothing to do\n")


async def test_address_that_is_written_in_another_way_is_left_alone(
    cloned: Cloned, new_url: str
) -> None:
    old_url = cloned.service.url
    configure(
        cloned, f'[service]\nurl = "{old_url}"', f'service = {{ url = "{old_url}" }}'
    )
    ran = await cloned.run("move-service", old_url, new_url, "--yes")
    assert ran.code == 2
    assert "in a form that cannot be edited automatically" in ran.err
    assert recorded_urls(cloned) == {old_url}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[service]\nurl = "a"\n', '[service]\nurl = "b"\n'),
        (
            (
                '# [service]\n[ service ] # here\n\n# url = "x"\ntoken_file = "t"\n'
                "  url='a' # ours\n[site]\nurl = \"c\"\n"
            ),
            (
                '# [service]\n[ service ] # here\n\n# url = "x"\ntoken_file = "t"\n'
                '  url="b" # ours\n[site]\nurl = "c"\n'
            ),
        ),
        ('[site]\nurl = "a"\n', None),
        ('[service]\n[site]\nurl = "a"\n', None),
    ],
)
def test_address_is_changed_in_its_place_alone(before: str, after: str | None) -> None:
    assert with_service_url(before, "b") == after
