"""Three bad days of an operator: one fault after the other, and nothing is lost."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.instances.stage import Play, staged
from tests.support.bending import SIGN_IN_PAGE
from tests.support.moved import GUIDE, configure, put_another_there
from tests.support.workspaces import FILES, HANDBOOK, PAGES
from wikisync.core.model import WikiOwner

TOOLS = WikiOwner("project", "docs/tools")
OURS = ("--project", "docs/handbook", "--project", "docs/tools")
CORRECTED = ("--project", "docs/guide", "--project", "docs/tools")
REPORT = "uploads/" + "0a" * 16 + "/report.html"
THEIRS = {"home": "payroll of another team\n", "salaries": "salaries\n"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Play]:
    """Ann's workspace and site of two wikis."""
    async with staged(tmp_path) as play:
        await play.service.add_project(HANDBOOK.full_path, PAGES)
        await play.service.add_project(TOOLS.full_path, {"home": "tools\n"})
        play.token = await play.service.add_user("ann")
        for owner in (HANDBOOK, TOOLS):
            await play.service.add_member(owner.full_path, "ann", 40)
        words = ("clone", play.proxy.url, *OURS, play.root)
        play.ended(await play.run(*words), 0)
        play.ended(await play.export(*OURS), 0)
        yield play


@pytest.mark.slow
async def test_three_bad_days_cost_no_text_and_no_page(stage: Play) -> None:
    expected = dict(FILES)
    await storage_fails_during_an_export(stage, expected)
    await project_is_renamed_and_another_takes_its_path(stage, expected)
    await gateway_shows_a_login_page(stage, expected)
    await token_runs_out_and_is_renewed(stage, expected)

    play = stage
    for _ in range(2):
        play.ended(await play.sync(), 0)
    play.ended(await play.run("status", "-C", play.root), 0)
    play.ended(await play.export(*CORRECTED), 0)
    play.safe(play.cloned.files() == expected, "the folder differs")
    play.safe(await play.on_wiki(GUIDE) == expected, "the wiki differs")
    tools = {"home.md": "tools, edited there\n"}
    play.safe(await play.on_wiki(TOOLS) == tools, "the other wiki differs")
    report = expected[REPORT].encode()
    play.safe(report in play.published().values(), "the report is not published")
    pages = {path: expected[path] for path in expected if path != REPORT}
    for text in (*pages.values(), *tools.values()):
        words = text.splitlines()[0].partition("[")[0]
        play.safe(play.shows(words), f"the site does not show {words!r}")
    play.safe(not play.shows("password"), "a login page is published")
    await strangers_are_untouched(play)
    assert not play.missed, play.seen
    assert not (play.root / "WIKISYNC-ATTENTION.md").exists()


async def strangers_are_untouched(play: Play) -> None:
    """What the other team has is theirs alone."""
    theirs = {f"{slug}.md": text for slug, text in THEIRS.items()}
    play.safe(await play.on_wiki(HANDBOOK) == theirs, "a stranger's wiki changed")
    play.safe("salaries.md" not in play.cloned.files(), "a stranger's page came")
    play.safe(not play.shows("payroll"), "a stranger's page is published")


async def storage_fails_during_an_export(play: Play, expected: dict[str, str]) -> None:
    """Its list is empty and its pages are missing; the other wiki goes on."""
    site = play.pages()
    of_wiki = r"/projects/(docs%2Fhandbook|1)/wikis"
    play.proxy.bend(of_wiki + r"(\?|$)", body=b"[]", headers=JSON)
    play.proxy.bend(of_wiki + "/", status=404, body=b"{}", headers=JSON)
    await play.service.add_pages(TOOLS, {"home": "tools, edited there\n"})
    ran = await play.export(*OURS)
    play.ended(ran, 3)
    play.told(ran, "docs/handbook", "the site keeps its copy")
    play.safe(site <= play.pages(), "pages left the site")
    play.safe(play.shows("be kind"), "the wiki left the site")
    play.right(play.shows("tools, edited there"), "the other wiki is old")
    play.cloned.write("home.md", "edited on the first day\n")
    play.right((await play.sync()).code != 0, "sync ends with 0 without the storage")
    play.safe(len(play.cloned.files()) == len(FILES), "pages of the folder are gone")
    play.proxy.straighten()
    expected["home.md"] = "edited on the first day\n"
    play.ended(await play.sync(), 0)


async def project_is_renamed_and_another_takes_its_path(
    play: Play, expected: dict[str, str]
) -> None:
    """Edits wait until the path is corrected; nothing goes to the other team."""
    token, play.token = play.token, play.service.token
    await put_another_there(play.cloned, THEIRS)
    play.token = token
    await play.service.add_member(HANDBOOK.full_path, "ann", 40)
    play.cloned.write("mine.md", "new on the second day\n")
    await play.service.add_pages(GUIDE, {"guide": "edited there, second day\n"})
    ran = await play.sync("--adopt", "push")
    play.ended(ran, 4)
    play.told(ran, "docs/handbook is another project now", "is docs/guide")
    for _ in range(2):
        exported = await play.export(*OURS)
        play.right(exported.code != 0, "export ends with 0 at a stranger's wiki")
        play.told(exported, "docs/handbook: is another project now", "is docs/guide")
        play.safe(play.shows("be kind"), "our pages left the site")
    await strangers_are_untouched(play)
    configure(play.cloned, '"docs/handbook"', '"docs/guide"')
    expected["mine.md"] = "new on the second day\n"
    expected["guide.md"] = "edited there, second day\n"
    play.ended(await play.sync(), 0)


async def gateway_shows_a_login_page(play: Play, expected: dict[str, str]) -> None:
    """Every run of its hour finds the page, stores none of it and removes nothing."""
    text = f"new there, [report]({REPORT})\n"
    await play.service.put_file(GUIDE, REPORT, b"<html>own</html>")
    await play.service.add_pages(GUIDE, {"theirs": text})
    play.cloned.write("home.md", "edited on the third day\n")
    (play.cloned.folder / "team/rules.md").write_text("be kinder\n")
    before, site = play.cloned.files(), play.published()
    with play.proxy.bend(status=200, html=SIGN_IN_PAGE):
        for _ in range(3):
            ran = await play.sync()
            play.ended(ran, 1)
            play.told(ran, "sign-in page")
            exported = await play.export(*CORRECTED)
            play.right(exported.code != 0, "export ends with 0 at a login page")
            play.safe(play.cloned.files() == before, "the folder changed")
            play.safe(play.published() == site, "the site changed")
    # the files alone go on with it for a while
    with play.proxy.bend("/-/wikis/uploads/", status=200, html=SIGN_IN_PAGE):
        play.ended(await play.sync(), 0, 3)
    expected["home.md"] = "edited on the third day\n"
    expected["team/rules.md"] = "be kinder\n"
    expected["theirs.md"] = text
    expected[REPORT] = "<html>own</html>"


async def token_runs_out_and_is_renewed(play: Play, expected: dict[str, str]) -> None:
    """A new token goes on where the old one ended; without one nothing is exported."""
    ended = (datetime.now(UTC) - timedelta(days=2)).strftime("%Y-%m-%d")
    command = "UPDATE token SET expires_on = ? WHERE user_id > 1"
    await play.service.ask(lambda tables: tables.db.execute(command, (ended,)))
    play.cloned.write("mine.md", "edited without a token\n")
    site = play.published()
    ran = await play.sync()
    play.ended(ran, 1)
    play.told(ran, "the token has expired")
    for environment in (None, {"WIKISYNC_TOKEN": None}):
        exported = await play.export(*CORRECTED, environment=environment)
        play.right(exported.code != 0, "export ends with 0 without a token")
        play.safe(play.published() == site, "the site changed")
    play.token = await play.service.add_user("ann")
    expected["mine.md"] = "edited without a token\n"
