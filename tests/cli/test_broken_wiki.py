"""One broken wiki keeps no other one old: clone, sync, status and watch go on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bending import BendingProxy, Rule, bending_proxy
from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import Cloned
from wikisync.core.model import WikiOwner
from wikisync.workspace.failures import LASTING_TRIES

NAMES = ("p1", "p2", "p3")
ALL = ("--group", "docs", "--all")
LASTING = f"{LASTING_TRIES} attempts in a row failed, although the service is reachable"
OWNERS = {name: WikiOwner("project", f"docs/{name}") for name in NAMES}


@dataclass(frozen=True, slots=True)
class Three(Cloned):
    """A workspace of three wikis behind a proxy; the second one can be broken."""

    proxy: BendingProxy
    ids: dict[str, int]

    async def clone(self, *words: str) -> Ran:
        return await self.run_main("clone", self.proxy.url, *ALL, *words, self.root)

    def break_one(self, status: int = 500) -> Rule:
        pages = f"/projects/(docs%2Fp2|{self.ids['p2']})/wikis"
        return self.proxy.bend(pages, status=status, body=b"{}")

    def page(self, name: str) -> Path:
        return self.root / name / "home.md"

    async def on_wiki(self, name: str) -> str:
        return (await self.service.files(OWNERS[name]))["home.md"].decode()


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once: the pauses are chosen at random, from zero on."""
    monkeypatch.setattr("wikisync.api.client.spread", lambda: 0.0)


@pytest.fixture
async def three(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> AsyncIterator[Three]:
    await service.add_group("docs", wiki=False)
    ids = {
        name: await service.add_project(owner.full_path, {"home": f"{name}\n"})
        for name, owner in OWNERS.items()
    }
    async with bending_proxy(service.url) as proxy:
        yield Three(service, tmp_path / "ws", run, proxy, ids)


@pytest.fixture
async def cloned(three: Three) -> Three:
    assert (await three.clone()).code == 0
    return three


async def test_clone_goes_on_with_the_other_wikis(three: Three) -> None:
    rule = three.break_one()
    ran = await three.clone()
    assert ran.code == 3
    assert three.page("p3").read_text() == "p3\n"
    assert "project docs/p2: left out: " in ran.err
    rule.end()
    assert (await three.run("sync")).code == 0
    assert three.page("p2").read_text() == "p2\n"


async def test_clone_goes_on_without_a_wiki_that_is_hidden(cloned: Three) -> None:
    await cloned.service.add_pages(OWNERS["p3"], {"home": "changed\n"})
    hidden = b'"path_with_namespace":"docs/p2"'
    cloned.proxy.bend(
        r"/groups/\d+/projects",
        body=lambda body: body.replace(hidden, hidden.replace(b"p2", b"p9")),
    )
    ran = await cloned.clone()
    assert ran.code == 3
    assert cloned.page("p3").read_text() == "changed\n"
    assert cloned.page("p2").read_text() == "p2\n"
    assert "project docs/p2: the service no longer lists it" in ran.err


async def test_clone_leaves_out_what_is_excluded(three: Three) -> None:
    rule = three.break_one()
    assert (await three.clone("--exclude", "docs/p2")).code == 0
    assert rule.met == 0
    assert "docs/p2" not in three.settings.read_text()


@pytest.mark.parametrize("status", [500, 401])
async def test_status_and_sync_go_on_with_the_other_wikis(
    cloned: Three, status: int
) -> None:
    cloned.break_one(status)
    cloned.page("p2").write_text("edited\n")
    cloned.page("p3").write_text("edited\n")
    wikis = (await cloned.run("status", "--json")).json["wikis"]
    seen = {wiki["folder"]: wiki["is_wiki_seen"] for wiki in wikis}
    assert seen == {"p1": True, "p2": False, "p3": True}
    (await cloned.run("sync")).ended(1, "docs/p2")
    assert await cloned.on_wiki("p3") == "edited\n"
    assert await cloned.on_wiki("p2") == "p2\n"


async def test_sync_calls_for_attention_after_three_tries(cloned: Three) -> None:
    rule = cloned.break_one()
    for _ in range(LASTING_TRIES - 1):
        await cloned.run("sync")
    assert not cloned.attention
    ran = await cloned.run("sync")
    assert LASTING in ran.err
    assert "- p2: cannot list the pages of project docs/p2: " in cloned.attention
    assert LASTING in cloned.attention
    rule.end()
    assert (await cloned.run("sync")).code == 0
    assert not cloned.attention
    cloned.break_one()
    await cloned.run("sync")
    assert not cloned.attention, "the count begins anew"


async def test_sync_ends_where_the_service_is_away(cloned: Three) -> None:
    """The others would wait in vain, one after the other."""
    cloned.proxy.bend("", status=502, body=b"{}")
    ran = await cloned.run("sync")
    assert ran.code == 1
    assert sum(name in ran.err for name in NAMES) == 1
    assert not cloned.attention


async def test_sync_leaves_out_what_is_excluded(cloned: Three) -> None:
    rule = cloned.break_one()
    cloned.page("p3").write_text("edited\n")
    assert (await cloned.run("sync", "--exclude", "p2")).code == 0
    assert await cloned.on_wiki("p3") == "edited\n"
    cloned.configure("[sync]\n", '[sync]\nexclude = ["docs/p2"]\n')
    cloned.page("p3").write_text("again\n")
    assert (await cloned.run("sync")).code == 0
    assert await cloned.on_wiki("p3") == "again\n"
    assert rule.met == 0
    status = await cloned.run("status", "--json")
    assert [wiki["folder"] for wiki in status.json["wikis"]] == ["p1", "p3"]
    ran = await cloned.run("sync", "--exclude", "p1", "--exclude", "p3")
    ran.ended(2, "every wiki of the workspace is excluded")
