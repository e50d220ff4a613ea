"""Cases of rights that change: tokens, roles, visibility, and their way back."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.instances.cases import case
from tests.instances.stage import Play
from wikisync.core.model import WikiOwner

PART = "Rights"
DEVELOPER = 30
PLANNER = 15
LOST = "DELETE FROM membership WHERE user_id > 1"

Change = Callable[[Play], Awaitable[object]]


async def begin_as_member(play: Play, level: int = DEVELOPER) -> None:
    """Ann, a member of the project, clones its wiki."""
    await play.service.add_project("docs/handbook")
    play.token = await play.service.add_user("ann")
    await play.service.add_member("docs/handbook", "ann", level)
    await play.begin()


def sql(command: str, *values: object) -> Change:
    return lambda play: play.service.ask(lambda t: t.db.execute(command, values))


def project(**values: Any) -> Change:
    return lambda play: play.service.add_project("docs/handbook", **values)


async def join(play: Play) -> None:
    await play.service.add_member("docs/handbook", "ann", DEVELOPER)


def taken(name: str, take: Change, give: Change, *words: str) -> None:
    """A case of a right that is taken and given back."""

    async def run(play: Play) -> None:
        await begin_as_member(play)
        expected = await play.edit_both()
        mine, site = play.cloned.files(), play.pages()
        await take(play)
        ran, exported = await play.sync(), await play.export()
        looked = await play.run("status", "-C", play.root)
        doctor = await play.run("doctor", "-C", play.root)
        for one in (ran, looked, doctor):
            play.right(one.code != 0, "a command ends with 0 without the right")
        play.told(ran, *words)
        here = play.cloned.files()
        for path in ("home.md", "mine.md"):
            play.safe(here.get(path) == mine[path], f"{path} of the folder is lost")
        play.safe(mine.keys() <= here.keys(), "pages of the folder are removed")
        play.safe(site <= play.pages(), "pages left the site")
        play.right(exported.code in {0, 1, 3}, f"export ends with {exported.code}")
        await give(play)
        play.ended(await play.sync(), 0)
        await play.agree(expected)
        play.ended(await play.export(), 0)
        play.right(play.shows("edited here"), "the site is not new")

    case(PART, name)(run)


YESTERDAY = (datetime.now(UTC) - timedelta(days=2)).strftime("%Y-%m-%d")
taken(
    "token expired, and renewed",
    sql("UPDATE token SET expires_on = ? WHERE user_id > 1", YESTERDAY),
    sql("UPDATE token SET expires_on = NULL"),
    "the token has expired",
)
taken(
    "user blocked",
    sql("UPDATE user SET is_blocked = 1 WHERE id > 1"),
    sql("UPDATE user SET is_blocked = 0"),
    "blocked|does not know this token",
)
taken("archived", project(is_archived=True), project(), "archived")
taken(
    "wiki switched off",
    project(wiki_access_level="disabled"),
    project(),
    "disabled|switched off",
)
taken(
    "membership lost", sql(LOST), join, "does not exist or is hidden|not for this token"
)


def hidden(name: str, before: dict[str, str], after: dict[str, str]) -> None:
    """A case of a public wiki that is hidden from who is no member."""

    async def run(play: Play) -> None:
        await play.service.add_project("docs/handbook", **before)  # type: ignore[arg-type]
        play.token = await play.service.add_user("ann")
        await play.service.add_project("docs/handbook", {"home": "one\n"}, **before)  # type: ignore[arg-type]
        words = ("clone", play.proxy.url, "--project", "docs/handbook", play.root)
        play.ended(await play.run(*words), 0)
        await project(**after)(play)
        await play.cloned.edit({"home": "two\n"})
        ran = await play.sync()
        play.right(ran.code != 0, "sync ends with 0 though the wiki is hidden")
        play.told(ran, "docs/handbook", "see it|this token|not found")
        play.safe(play.cloned.files() == {"home.md": "one\n"}, "the folder changed")
        await project(**before)(play)
        play.ended(await play.sync(), 0)
        await play.agree({"home.md": "two\n"})

    case(PART, name)(run)


PUBLIC = {"visibility": "public", "wiki_access_level": "enabled"}
hidden("members only", PUBLIC, {**PUBLIC, "wiki_access_level": "private"})
hidden("made private", PUBLIC, {"visibility": "private"})


@case(PART, "Planner: writes work, and doctor says so")
async def _planner(play: Play) -> None:
    await begin_as_member(play, PLANNER)
    expected = await play.edit_both()
    doctor = await play.run("doctor", "-C", play.root)
    play.told(doctor, "Planner", never=("can only read", "writing needs"))
    play.ended(await play.sync(), 0)
    await play.agree(expected)


@case(PART, "marked for deletion")
async def _marked(play: Play) -> None:
    await play.begin(site=False)
    url = play.service.url
    words = ("project", "delete", url, "docs/handbook", "--yes")
    play.ended(await play.run(*words), 0)
    # a sync with something to send asks where the wiki is, whenever it asked last
    play.cloned.write("home.md", "edited here\n")
    for command in ("sync", "status", "doctor"):
        ran = await play.run(command, "-C", play.root)
        play.right(ran.code != 0, f"{command} ends with 0")
        play.told(ran, "the project was marked for deletion on 20")


@case(PART, "membership lost, and an export of the group", short=True)
async def _group(play: Play) -> None:
    """The public wiki is still read; the private ones stay on the site."""
    service = play.service
    await service.add_group("docs", wiki=False, visibility="public")
    for name in ("open", "closed", "secret"):
        await service.add_project(
            f"docs/{name}",
            {"home": f"{name} words\n"},
            visibility="public" if name == "open" else "private",
        )
    play.token = await service.add_user("ann")
    await service.add_member("docs", "ann", DEVELOPER)
    play.ended(await play.export("--group", "docs", "--all"), 0)
    before = play.pages()
    await sql(LOST)(play)
    await service.add_pages(
        WikiOwner("project", "docs/open"), {"home": "newer words\n"}
    )
    ran = await play.export("--group", "docs", "--all")
    play.ended(ran, 3)
    gone = sorted(before - play.pages())
    play.safe(not gone, f"left the site: {gone}")
    play.safe(play.shows("secret words"), "a wiki left the site")
    play.right(play.shows("newer words"), "the public wiki is not new")
    play.told(ran, "docs/closed", "docs/secret", "the site keeps its copy")
