"""Cases of services of other versions, and of what wikis hold."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import ClientSession
from yarl import URL

from tests.instances.cases import case
from tests.instances.in_front import LISTS
from tests.instances.stage import Play
from tests.support.bending import SIGN_IN_PAGE
from tests.support.moved import sync_for_long
from tests.support.workspaces import FILES, HANDBOOK, Cloned
from wikisync.core.model import WikiOwner

VERSIONS = "Versions"
CONTENT = "Content"
PAGES_OF = r"/wikis(/[^/?]+)?(\?|$)"
"""Lists of pages, and single ones."""

_JSON = msgspec.json.Decoder()


async def edit_on_the_web(cloned: Cloned, slug: str, text: str) -> None:
    """Save a page on the wiki, as its editor does."""
    url = f"{cloned.service.url}/api/v4/projects/docs%2Fhandbook/wikis/{quote(slug)}"
    edit = {"title": slug, "content": text}
    async with ClientSession(headers=cloned.service.headers) as session:
        answer = await session.put(URL(url, encoded=True), json=edit)
        answer.raise_for_status()


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A body in which each page is changed."""

    def bend(body: bytes) -> bytes:
        value = _JSON.decode(body) if body else None
        for page in value if isinstance(value, list) else [value]:
            if isinstance(page, dict) and "slug" in page:
                change(page)
        return msgspec.json.encode(value)

    return bend


def other_version(name: str, path: str = PAGES_OF, **bent: Any) -> None:
    """A case in which everything works though answers differ."""

    async def run(play: Play) -> None:
        rule = play.proxy.bend(path, method="GET", **bent)
        await play.begin()
        expected = await play.edit_both()
        ran = await play.sync()
        play.ended(ran, 0)
        play.right(rule.met > 0, "no request met the difference")
        await play.agree(expected)
        play.ended(await play.export(), 0)
        play.right(play.shows("edited here"), "the site is not new")

    case(VERSIONS, name)(run)


for key in ("title", "format", "encoding", "front_matter"):
    other_version(f"no {key}", body=changed(lambda page, key=key: page.pop(key, None)))  # type: ignore[misc]
other_version(
    "dashes for spaces in titles",
    body=changed(lambda page: page.update(title=str(page["title"]).replace(" ", "-"))),
)
other_version(
    "with_content ignored", LISTS, body=changed(lambda page: page.pop("content", None))
)
other_version("unknown fields", body=changed(lambda page: page.update(colour=[1])))
other_version("title: null", body=changed(lambda page: page.update(title=None)))
other_version("text/plain", headers={"Content-Type": "text/plain"})
other_version("no content type", headers={"Content-Type": None})
TOTALS = ("X-Total", "X-Total-Pages")
other_version("no X-Total", headers=dict.fromkeys(TOTALS))


@case(VERSIONS, "unknown format of a page")
async def _unknown_format(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()

    def strange(page: dict[str, Any]) -> None:
        if page["slug"] == "team/rules":
            page["format"] = "wordstar"

    play.proxy.bend(PAGES_OF, method="GET", body=changed(strange))
    ran = await play.sync()
    play.ended(ran, 3)
    play.told(ran, "team/rules: has the unknown format wordstar", "kept as plain text")
    texts = play.cloned.files().values()
    play.safe(FILES["team/rules.md"] in texts, "a text is gone")
    play.proxy.straighten()
    play.ended(await play.sync(), 0)
    await play.agree(expected)


PARTS = ("Link", "X-Next-Page", *TOTALS)


def many(name: str, chosen: tuple[str, ...], **bent: Any) -> None:
    """A case of 30 wikis in lists of 20 that say little of themselves."""

    async def run(play: Play) -> None:
        await play.service.add_group("docs", wiki=False)
        for number in range(30):
            await play.service.add_project(f"docs/p{number:02}", {"home": "x\n"})
        play.service.set_limits(per_page_max=20)
        play.proxy.bend("/(projects|groups)", **bent)
        ran = await play.export("--json", *chosen)
        play.ended(ran, 0)
        if ran.code == 0:
            count = len(ran.json["wikis"])
            play.safe(count == 30, f"{count} of 30 wikis are on the site")

    case(VERSIONS, name, short="everything" in name)(run)


ALL = ("--group", "docs", "--all")
many("per_page capped", ALL)
many("Link stripped, group", ALL, headers=dict.fromkeys(PARTS))
many("Link stripped, everything", ("--all",), headers=dict.fromkeys(PARTS))


@case(VERSIONS, "keyset refused")
async def _keyset(play: Play) -> None:
    for number in range(30):
        await play.service.add_project(f"docs/p{number:02}", {"home": "x\n"})
    play.service.set_limits(per_page_max=20)
    body = b'{"error":"keyset pagination is not supported"}'
    kind = {"Content-Type": "application/json"}
    refusal = play.proxy.bend("pagination=keyset", status=405, body=body, headers=kind)
    ran = await play.export("--json", "--all")
    play.right(refusal.met > 0, "no keyset was asked for")
    play.told(ran, never=("a moved project is written by",))
    if ran.code == 0:
        count = len(ran.json["wikis"])
        play.safe(count == 30, f"{count} of 30 wikis are on the site")
    else:
        play.told(ran, "keyset")


def group_wikis(status: int) -> None:
    """A case of a service without wikis of groups."""

    async def run(play: Play) -> None:
        await play.service.add_group("docs", wiki=False)
        await play.service.add_project("docs/handbook", {"home": "one\n"})
        body = b'{"message":"%d"}' % status
        kind = {"Content-Type": "application/json"}
        play.proxy.bend(r"/groups/[^/]+/wikis", status=status, body=body, headers=kind)
        words = ("clone", play.proxy.url, *ALL, play.root)
        play.ended(await play.run(*words), 0)
        play.right((play.root / "handbook/home.md").exists(), "the project is missing")

    case(VERSIONS, f"wikis of groups {status}")(run)


for status in (403, 404):
    group_wikis(status)


# -- content -----------------------------------------------------------------------

ODD = (
    *("a b", "é", "e\u0301t", "日本", "a.b", "a&b", "a+b", "a%b", "100%", "a#b", "a=b"),
    *("'q'", "(x)", "[x]", "{x}", "a,b", "a;b", "a@b", "a!b", "a$b", "a~b", "a^b"),
    *("-dash", "_under", "UPPER", "🙂", "ß", "İ", "con", "a..b", "x.md.md"),
    *("/".join("abcdefghijklmnopqrstuvwxyz0123"), "n" * 245, "team/é/日本"),
)


@case(CONTENT, "odd names, 30 deep, 245 bytes")
async def _odd(play: Play) -> None:
    await play.begin({"home": "one\n"}, site=False)
    for number, name in enumerate(ODD):
        if number % 2:
            play.cloned.write(f"{name}.md", f"here {number}\n")
        else:
            await play.service.put_file(HANDBOOK, f"{name}.md", b"there %d\n" % number)
    ran = await play.sync()
    play.ended(ran, 0, 3)
    await play.sync()
    here, there = play.cloned.files(), await play.on_wiki()
    for number in range(len(ODD)):
        text = f"{'here' if number % 2 else 'there'} {number}\n"
        has_both = text in here.values() and text in there.values()
        is_named = ODD[number] in ran.out + ran.err
        play.safe(text in {*here.values(), *there.values()}, f"{ODD[number]} is lost")
        play.right(has_both or is_named, f"{ODD[number]} is neither carried nor named")


def raw_text(name: str, content: bytes, *, is_carried: bool = True) -> None:
    """A case of a page with odd bytes."""

    async def run(play: Play) -> None:
        await play.begin({"home": "one\n"}, site=False)
        await play.service.put_file(HANDBOOK, "odd.md", content)
        play.cloned.write("home.md", "two\n")
        ran = await play.sync()
        play.ended(ran, 0, 3)
        if ran.code == 3:
            play.told(ran, "odd")
        files = await play.service.files(HANDBOOK)
        play.safe(files["odd.md"] == content, "the page was changed")
        play.right(files["home.md"] == b"two\n", "the other page waits")
        path = play.cloned.folder / "odd.md"
        if is_carried:
            came = path.exists() and path.read_bytes() == content
            play.right(came, "the page did not come")
        else:
            play.right(ran.code == 3, "a page that cannot be read is not named")

    case(CONTENT, name)(run)


raw_text("CRLF", b"one\r\ntwo\r\n")
raw_text("BOM", b"\xef\xbb\xbfone\n")
raw_text("NUL", b"one\0two\n", is_carried=False)
raw_text("UTF-16", "one\n".encode("utf-16"), is_carried=False)


@case(CONTENT, "colliding slugs")
async def _collide(play: Play) -> None:
    await play.begin({"home": "one\n"}, site=False)
    files = {
        "Foo.md": b"upper\n",
        "foo.md": b"lower\n",
        "a b.md": b"s\n",
        "a-b.md": b"d\n",
    }
    await play.service.put_files(HANDBOOK, files)
    play.cloned.write("home.md", "two\n")
    for _ in range(2):
        ran = await play.sync()
        play.ended(ran, 0, 3)
    stored = await play.service.files(HANDBOOK)
    play.safe(files.items() <= stored.items(), "a page of the wiki changed")
    play.right(stored["home.md"] == b"two\n", "the other page waits")


@case(CONTENT, "first edits of a page with a space in its name", short=True)
async def _space(play: Play) -> None:
    await play.begin({"My Notes": "one\n"}, site=False)
    for text in ("two\n", "three\n"):
        play.cloned.write("My Notes.md", text)
        ran = await play.sync()
        play.ended(ran, 0)
        play.told(ran, never=("cannot store page", "give one of them"))
        here, there = play.cloned.files(), await play.on_wiki()
        play.safe(here == {"My Notes.md": text}, f"the folder has {sorted(here)}")
        play.safe(there.get("My-Notes.md") == text, "the edit does not arrive")
    await edit_on_the_web(play.cloned, "My-Notes", "four\n")
    play.ended(await play.sync(), 0)
    play.safe(play.cloned.files() == {"My Notes.md": "four\n"}, "a second file came")


@case(CONTENT, "2,000 pages, one of 5 MB and one of 50 MB")
async def _large(play: Play) -> None:
    pages = {f"p{number // 50}/q{number}": f"text {number}\n" for number in range(2000)}
    await play.begin({**pages, "five": "five\n" * 1_000_000}, site=False)
    await play.service.put_file(HANDBOOK, "fifty.md", b"fifty.\n\n" * 6_553_600)
    play.cloned.write("p0/q0.md", "edited here\n")
    ran = await play.sync()
    play.ended(ran, 3)
    play.told(ran, "fifty")
    play.right((await play.on_wiki())["p0/q0.md"] == "edited here\n", "an edit waits")
    play.right(len(play.cloned.files()) >= 2001, "pages are missing")


def unreadable(name: str, content: bytes) -> None:
    """A case of a page that holds back nothing but itself."""

    async def run(play: Play) -> None:
        await play.begin(site=False)
        await play.service.put_file(HANDBOOK, "broken.md", content)
        await play.sync()
        await play.cloned.remove("guide")
        (play.cloned.folder / "team/people.md").unlink()
        ran = await sync_for_long(play.cloned)
        play.ended(ran, 3)
        play.told(ran, "broken")
        there = await play.on_wiki()
        play.right("guide.md" not in play.cloned.files(), "the deletion does not come")
        play.right("team/people.md" not in there, "the deletion does not go")
        play.safe("broken.md" in there, "the page was deleted")
        play.safe("team/rules.md" in there, "another page was deleted")

    case(CONTENT, name)(run)


unreadable("page that can never be read (NUL)", b"one\0two\n")
unreadable("page that can never be read (12 MB)", b"too large\n" * 1_200_000)

PICTURE = b"\x89PNG\r\n\x1a\n picture"
UPLOADS = "uploads/" + "0a" * 16
ATTACHED = {
    f"{UPLOADS}/a.png": PICTURE,
    f"{UPLOADS}/b.html": b"<html>own</html>",
    f"{UPLOADS}/c.txt": b"words\n",
    f"{UPLOADS}/d.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
}


def attached(
    name: str, *, by_git: bool = True, short: bool = False, **bent: Any
) -> None:
    """A case in which files cannot be fetched for a while, or come by git."""

    async def run(play: Play) -> None:
        text = "".join(f"[x]({path})\n" for path in ATTACHED)
        await play.service.add_project("docs/handbook", {"home": text})
        for path, content in ATTACHED.items():
            await play.service.put_file(HANDBOOK, path, content)
        rule = play.proxy.bend("/-/wikis/uploads/", **bent)
        git = None if by_git else play.proxy.bend("info/refs", status=404)
        words = ("clone", play.proxy.url, "--project", "docs/handbook", play.root)
        cloned, exported = await play.run(*words), await play.export()
        play.right(rule.met > 0, "no file was asked for")
        for one in (cloned, exported):
            play.ended(one, 0, 3)
            if one.code == 3:
                play.told(one, "attachment|file|png|html|txt|svg")
        wrong = b"password"
        here = {p: p.read_bytes() for p in play.root.rglob("*") if p.is_file()}
        play.safe(not any(wrong in one for one in here.values()), "stored a login page")
        shown = play.published().values()
        play.safe(not any(wrong in one for one in shown), "published a login page")
        came = play.cloned.files()
        empty = [path for path in ATTACHED if came.get(path) == ""]
        play.safe(not empty, f"stored as empty: {empty}")
        rule.end()
        if git:
            git.end()
        play.ended(await play.sync(limits={"limit_wait_max_s": 1.0}), 0)
        for path, content in ATTACHED.items():
            file = play.cloned.folder / path
            is_right = file.exists() and file.read_bytes() == content
            play.right(is_right, f"{path} is not fetched when the cause is gone")
        play.ended(await play.export(), 0)
        play.right(PICTURE in play.published().values(), "the picture is not published")

    case(CONTENT, name, short=short)(run)


attached("attachments are a login page", status=200, html=SIGN_IN_PAGE, short=True)
attached(
    "attachments are a login page, no git", by_git=False, status=200, html=SIGN_IN_PAGE
)
attached("attachments are empty", status=200, body=b"")
attached("attachments are empty, no git", by_git=False, status=200, body=b"")
for status in (404, 403, 500):
    attached(f"attachments {status}, no git", by_git=False, status=status, body=b"no")
attached(
    "attachments 429, no git",
    by_git=False,
    status=429,
    headers={"Retry-After": "100000"},
    body=b"no",
)
attached("attachments redirected", redirect="/users/sign_in")

GROUP = WikiOwner("group", "docs")


@case(VERSIONS, "wiki of a group")
async def _group_wiki(play: Play) -> None:
    await play.service.add_group("docs", {"home": "one\n"})
    words = ("clone", play.proxy.url, "--group", "docs", play.root)
    play.ended(await play.run(*words), 0)
    (play.root / "docs/home.md").write_text("two\n")
    play.ended(await play.sync(), 0)
    play.safe(await play.on_wiki(GROUP) == {"home.md": "two\n"}, "the edit is lost")
