"""Cases of what stands in front of a service: gateways, limits, cut answers."""

import asyncio
import gzip
import time
from collections.abc import Callable
from typing import Any

from tests.instances.cases import case
from tests.instances.stage import Play, eventually
from tests.support.agreed import write_config
from tests.support.bending import SIGN_IN_PAGE, BendingProxy, Rule, bending_proxy
from tests.support.watching import WatchProcess, watching
from tests.support.workspaces import FILES, HANDBOOK

PART = "In front"
BLOCKED = b"<html><head><title>Request Rejected</title></head><body>no</body></html>"
GATEWAY = b"<html><head><title>Bad Gateway</title></head><body>later</body></html>"
JSON = {"Content-Type": "application/json"}
LISTS = r"/wikis(\?|$)"
"""The lists of pages."""
REQUESTS_MAX = 60
"""Of four commands during a fault that meets every request."""

Bend = Callable[[BendingProxy], Rule]


async def play_fault(
    play: Play, bend: Bend, *words: str, never: tuple[str, ...] = ()
) -> None:
    """Four commands during a fault; then all is carried, and the site follows."""
    await play.begin()
    expected = await play.edit_both()
    here, there = play.cloned.files(), await play.on_wiki()
    site, asked = play.published(), len(play.proxy.asked)
    rule = bend(play.proxy)
    said = []
    for command in ("sync", "status", "doctor", "export"):
        if command == "export":
            ran = await play.export()
            play.right(ran.code != 0, "export ends with 0 during the fault")
        else:
            ran = await play.run(command, "-C", play.root)
            play.right(ran.code != 0, f"{command} ends with 0 during the fault")
        said.append(ran.out + ran.err)
        play.safe(play.cloned.files() == here, f"{command} changed the folder")
        play.safe(await play.on_wiki() == there, f"{command} changed the wiki")
        play.safe(play.published() == site, f"{command} changed the site")
    play.told(said[0], *words, never=never)
    play.told("".join(said), never=never)
    asked = len(play.proxy.asked) - asked
    play.right(rule.met > 0, "no request met the fault")
    play.right(asked <= REQUESTS_MAX, f"{asked} requests")
    rule.end()
    play.ended(await play.sync(), 0)
    await play.agree(expected)
    play.ended(await play.export(), 0)
    play.right(play.shows("edited here"), "the site is not new after the fault")


def fault(name: str, *words: str, **bent: Any) -> None:
    """A case in which every request is answered so."""

    async def run(play: Play) -> None:
        never = ("this token may not", "does not know this token")
        await play_fault(play, lambda p: p.bend(**bent), *words, never=never)

    case(PART, name)(run)


fault("HTML 200", "Sign in|web page", status=200, html=SIGN_IN_PAGE)
fault("HTML 404", "answers with a web page", status=404, html=GATEWAY)
fault("HTML 400", "answers with a web page", status=400, html=GATEWAY)
for status in (200, 204, 206, 304):
    fault(
        f"empty {status}",
        "unexpected status|no JSON|answer",
        status=status,
        body=b"",
        headers=JSON,
    )
for body in (b"null", b"{}"):
    fault(
        f"JSON {body.decode()}",
        "the JSON has another shape",
        status=200,
        body=body,
        headers=JSON,
    )
for status in (502, 503, 511):
    fault(f"{status} HTML", str(status), status=status, html=GATEWAY)
fault(
    "503 HTML with Retry-After: 3600",
    "60 min|1 hour|an hour|3600 s",
    status=503,
    html=GATEWAY,
    headers={"Retry-After": "3600"},
)
for status in (401, 403, 405, 406, 407):
    words = "in front of the service refused it: Request Rejected"
    fault(f"{status} HTML (WAF)", words, status=status, html=BLOCKED)


def cut(name: str, **bent: Any) -> None:
    """A case in which answers of the API are cut."""

    async def run(play: Play) -> None:
        words = "cut|broke|answer|closed|reset|connection"
        await play_fault(play, lambda p: p.bend("/api/", **bent), words)

    case(PART, name)(run)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
cut("cut JSON", body=lambda body: body[: len(body) // 2])
cut("connection cut within the body", cut_after=10)
cut("too large Content-Length", raw=HEAD + b"Content-Length: 9999\r\n\r\n[]")
cut(
    "broken gzip",
    raw=HEAD
    + b"Content-Encoding: gzip\r\nContent-Length: 24\r\n\r\n"
    + gzip.compress(b"[]" * 200)[:12]
    + b"x" * 12,
)
cut(
    "chunks without an end", raw=HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n"
)
cut("reset without an answer", raw=b"")


@case(PART, "HTTP/1.0 with []")
async def _old_http(play: Play) -> None:
    """An empty list is nothing to remove pages for."""
    await play.begin()
    raw = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[]"
    site = play.published()
    play.proxy.bend(LISTS, raw=raw)
    ran, exported = await play.sync(), await play.export()
    play.right(ran.code != 0, "sync ends with 0")
    play.right(exported.code != 0, "export ends with 0")
    play.safe(play.published() == site, "the site changed")
    play.proxy.straighten()
    play.ended(await play.sync(), 0)
    await play.agree(FILES)


@case(PART, "SSO, 302 to another host")
async def _other_host(play: Play) -> None:
    async with bending_proxy(play.service.url) as sso:
        sso.bend(status=200, html=SIGN_IN_PAGE)
        target = f"{sso.url}/adfs/ls?RelayState=x"
        await play_fault(
            play,
            lambda proxy: proxy.bend(redirect=target),
            "do not give it a token",
            never=(f"give {sso.url}", f"use {sso.url}"),
        )
        sent = [one for one in sso.asked if play.token in str((one.headers, one.path))]
        play.safe(not sent, "the token went to the other host")


@case(PART, "list of pages 504: single reads instead")
async def _list_times_out(play: Play) -> None:
    await play.begin()
    expected = await play.edit_both()
    late = play.proxy.bend("with_content=(1|true)", status=504, html=GATEWAY)
    play.ended(await play.sync(), 0)
    play.right(late.met > 0, "no list was asked for with its texts")
    await play.agree(expected)


SHORT = {"read_timeout_s": 1.0, "connect_timeout_s": 2.0, "notice_after_s": 0.5}


@case(PART, "list that is silent (limits shortened)")
async def _silent(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()
    rule = play.proxy.bend(LISTS, hangs=True)
    ran = await play.sync(limits=SHORT, within_s=60)
    play.ended(ran, 1, 3)
    play.told(ran, "waiting|still|so far", "answer")
    play.right(0 < rule.met <= 4, f"{rule.met} tries of a silent list")
    rule.end()
    play.ended(await play.sync(), 0)
    await play.agree(expected)


@case(PART, "list that drips (limits shortened)")
async def _drips(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()
    rule = play.proxy.bend(LISTS, drip_s=0.5)
    ran = await play.sync(limits=SHORT, within_s=60)
    play.ended(ran, 1, 3)
    play.told(ran, "waiting|still|so far", "answer|slow")
    play.right(0 < rule.met <= 4, f"{rule.met} tries of a dripping list")
    rule.end()
    play.ended(await play.sync(), 0)
    await play.agree(expected)


@case(PART, "/api/v4 pasted into the URL")
async def _api_pasted(play: Play) -> None:
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    url = f"{play.proxy.url}/api/v4/"
    chosen = ("--project", "docs/handbook")
    play.ended(await play.run("clone", url, *chosen, play.root), 0)
    play.ended(await play.sync(), 0)
    play.right(play.cloned.files() == {"home.md": "one\n"}, "the page is not here")


@case(PART, "308 to another URL of the same service")
async def _moved_url(play: Play) -> None:
    """As from http to https: the URL to use is named, or it is followed."""
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    own = play.service.url
    target = f"{own}/api/v4/projects/docs%2Fhandbook"
    play.proxy.bend(redirect=target, status=308)
    words = ("clone", play.proxy.url, "--project", "docs/handbook", play.root)
    ran = await play.run(*words)
    play.ended(ran, 1)
    play.told(ran, f"give {own} as the service's URL")


@case(PART, "keep-alive that is closed at once")
async def _closed_keep_alive(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()
    play.proxy.bend(headers={"Connection": "close"})
    play.ended(await play.sync(), 0)
    await play.agree(expected)


def refused_writes(name: str, *words: str, **bent: Any) -> None:
    """A case in which edits do not get through."""

    async def run(play: Play) -> None:
        await play.begin(site=False)
        expected = await play.edit_both()
        before = play.cloned.files()
        rule = play.proxy.bend(r"/wikis", method="PUT|POST|DELETE", **bent)
        ran = await play.sync()
        play.right(ran.code != 0, "sync ends with 0")
        play.told(ran, *words, never=("a moved project is written by",))
        play.right(0 < rule.met <= 6, f"{rule.met} tries of two writes")
        play.safe(
            before.items()
            <= {**play.cloned.files(), "guide.md": FILES["guide.md"]}.items(),
            "an edit made here is not there any more",
        )
        rule.end()
        play.ended(await play.sync(), 0)
        await play.agree(expected)

    case(PART, name)(run)


for status in (301, 308):
    refused_writes(
        f"write redirected ({status}) on the same host",
        "redirect|/elsewhere",
        status=status,
        redirect="/elsewhere",
    )
refused_writes(
    "PUT forbidden (405)",
    "in front of the service refused it",
    status=405,
    html=BLOCKED,
)


@case(PART, "proxy takes %2F apart")
async def _slashes(play: Play) -> None:
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    play.proxy.bend("%2F", status=404, html=GATEWAY)
    play.root.mkdir()
    text = f'[service]\nurl = "{play.proxy.url}"\n[[wiki]]\nproject = "docs/handbook"\n'
    file = write_config(play.root, text)
    refused = await play.sync()
    play.ended(refused, 1)
    play.told(refused, "id = 42")
    file.write_text(f"{text}id = 1\n")
    play.ended(await play.sync(), 0)
    play.cloned.write("home.md", "two\n")
    play.ended(await play.sync(), 0)
    await play.agree({"home.md": "two\n"})


def limited(name: str, headers: dict[str, str], body: bytes = b"Retry later\n") -> None:
    """A case in which two requests are answered 429."""

    async def run(play: Play) -> None:
        await play.begin(site=False)
        expected = await play.edit_both()
        rule = play.proxy.bend("/api/", status=429, count=2, headers=headers, body=body)
        # without a time of the service's the client waits its own, a minute
        pause = {"rate_limit_pause_s": 2.0}
        play.ended(await play.sync(limits=pause), 0)
        play.right(rule.met == 2, f"{rule.met} requests were refused")
        await play.agree(expected)

    case(PART, f"429 with {name}")(run)


limited("Retry-After: 0", {"Retry-After": "0"})
limited("Retry-After: 2", {"Retry-After": "2"})
limited("Retry-After: -1", {"Retry-After": "-1"})
limited("a past date", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})
limited("HTML", {"Retry-After": "1", "Content-Type": "text/html"}, BLOCKED)
limited("no Retry-After", {})


FAR = {"Retry-After": "100000"}


@case(PART, "429 with a far Retry-After, once: sync says it")
async def _far_once(play: Play) -> None:
    await play.begin(site=False)
    expected = await play.edit_both()
    play.proxy.bend(r"/wikis", method="PUT|POST", count=1, status=429, headers=FAR)
    ran = await play.sync()
    play.told(ran, "it asks to wait 28 hours")
    play.right(play.cloned.read("guide.md") == "edited there\n", "nothing came")
    play.ended(await play.sync(), 0)
    await play.agree(expected)


@case(PART, "429 with a far Retry-After on one wiki: watch")
async def _far_watch(play: Play) -> None:
    """The other wiki goes on, and the limited one is tried again soon."""
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    await play.service.add_project("docs/other", {"start": "other\n"})
    more = '[[wiki]]\nproject = "docs/other"\n[sync]\npoll_interval_s = 1\n'
    async with watching(
        play.service, play.root, more=more, url=play.proxy.url
    ) as watch:
        await watch.said("in sync", times=2)
        far = play.proxy.bend(method="PUT", count=1, status=429, headers=FAR)
        watch.save("home", "mine\n")
        await asyncio.wait_for(far.has_met.wait(), 20)
        (play.root / "other" / "start.md").write_text("changed\n")
        await play.service.add_pages(HANDBOOK, {"news": "web\n"})
        came = await eventually(lambda: watch.text("news") == "web\n")
        play.right(came, "an edit on the limited wiki does not come")
        was = await eventually(lambda: bool(watch.health.get("waits")))
        play.right(was, "health names no wait")
        for wait in watch.health.get("waits", ()):
            soon = wait["next_try_at"] - time.time()
            play.right(soon < 901, f"the next try is in {soon:.0f} s")
        play.told("\n".join(watch.lines), "it asks to wait 28 hours")


@case(PART, "403 HTML for a while: watch")
async def _refused_watch(play: Play) -> None:
    await play.service.add_project("docs/handbook", {"home": "one\n"})
    async with watching(play.service, play.root, url=play.proxy.url) as watch:
        await watch.in_sync()
        rule = play.proxy.bend(status=403, html=BLOCKED)
        watch.save("home", "mine\n")
        await eventually(lambda: any("offline" in line for line in watch.lines))
        rule.end()
        await carried(play, watch)
        play.told(
            "\n".join(watch.lines),
            "front of the service refused it: Request Rejected",
            never=("disabled or hidden from this token", "enable the wiki"),
        )


async def carried(play: Play, watch: WatchProcess) -> None:
    """The save of a watch arrives soon after a fault."""

    async def is_there() -> bool:
        return await watch.wiki_text("home") == "mine\n"

    play.right(await eventually(is_there, 90), "the save is not carried in 90 s")
