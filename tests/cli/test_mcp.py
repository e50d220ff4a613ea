"""``wikisync mcp``, driven by the client of the protocol's own SDK."""

import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from tests.support.workspaces import PAGES, Cloned
from wikisync.workspace import agent
from wikisync.workspace.status import scan

Session = Callable[..., AbstractAsyncContextManager[Client]]
TIMEOUT_S = 120.0


@pytest.fixture
def session(cloned: Cloned, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session with the server that ``wikisync mcp`` makes, in this process."""
    made: list[MCPServer] = []

    def run(server: MCPServer) -> None:
        made.append(server)

    monkeypatch.setattr(MCPServer, "run", run)

    @asynccontextmanager
    async def start(*words: str) -> AsyncIterator[Client]:
        assert (await cloned.run("mcp", "-C", cloned.root, *words)).code == 0
        async with Client(made.pop()) as client:
            yield client

    return start


@pytest.fixture
def process(cloned: Cloned) -> AbstractAsyncContextManager[Client]:
    """A session with ``wikisync mcp``, started as an agent's program starts it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "wikisync", "mcp", "-C", str(cloned.root)],
        env=dict(os.environ),
    )
    return Client(server, read_timeout_seconds=TIMEOUT_S)


async def call(client: Client, tool: str, page: str = "", **arguments: object) -> Any:
    """What a tool answers, about a page of the handbook where one is named."""
    asked = {"page": f"handbook/{page}"} if page else {}
    answer = await client.call_tool(tool, {**asked, **arguments})
    text = "".join(getattr(part, "text", "") for part in answer.content)
    assert not answer.is_error, text
    return answer.structured_content


async def refused(client: Client, tool: str, page: str, **arguments: object) -> str:
    """Why a tool refuses what it is asked."""
    answer = await client.call_tool(tool, {"page": page, **arguments})
    assert answer.is_error, (page, arguments, answer.structured_content)
    return "".join(getattr(part, "text", "") for part in answer.content)


async def test_an_agent_lists_searches_and_reads(
    cloned: Cloned, process: AbstractAsyncContextManager[Client]
) -> None:
    (cloned.folder / "odd.md").write_bytes(b"be kind \xff\n")
    async with process as client:
        listed = await call(client, "list_pages")
        below = await call(client, "list_pages", folder="handbook/team")
        found = await call(client, "search_pages", query="BE kind")
        page = await call(client, "read_page", "home")

    assert listed["pages"] == [f"handbook/{slug}" for slug in sorted([*PAGES, "odd"])]
    team = ["handbook/team/people", "handbook/team/rules"]
    assert below == {"pages": team, "total": 2}
    lines = [{"line": 1, "text": "be kind"}]
    assert found["results"] == [{"page": "handbook/team/rules", "lines": lines}]
    assert page["text"] == PAGES["home"]


async def test_edits_of_agents_are_merged(cloned: Cloned, session: Session) -> None:
    """One in the folder, one on the wiki: all three are there in the end."""
    async with session("--sync") as client:
        version = (await call(client, "read_page", "home"))["version"]
        cloned.write("home.md", "ONE\n\ntwo\n\nthree\n")
        await cloned.edit({"home": "one\n\nTWO\n\nthree\n"})
        passage = {"old": "three", "text": "THREE"}
        edited = await call(client, "edit_page", "home", version=version, **passage)

    assert (edited["outcome"], edited["sync"]) == ("merged", "synced")
    assert cloned.read("home.md") == "ONE\n\nTWO\n\nTHREE\n"
    assert (await cloned.wiki())["home.md"] == "ONE\n\nTWO\n\nTHREE\n"


async def test_text_of_a_person_stays(cloned: Cloned, session: Session) -> None:
    async with session() as client:
        version = (await call(client, "read_page", "guide"))["version"]
        cloned.write("guide.md", "a person's guide\n")
        edit = {"version": version, "text": "an agent's guide\n"}
        said = await refused(client, "edit_page", "handbook/guide", **edit)

    assert "was changed in the same place" in said
    assert cloned.read("guide.md") == "a person's guide\n"


async def test_page_edited_there_is_held(cloned: Cloned, session: Session) -> None:
    async with session("--sync") as client:
        version = (await call(client, "read_page", "guide"))["version"]
        await cloned.edit({"guide": "a person's guide\n"})
        edit = {"version": version, "text": "an agent's guide\n"}
        edited = await call(client, "edit_page", "guide", **edit)
        again = await call(client, "read_page", "guide")
        edit = {"version": again["version"], "text": "once more\n"}
        said = await refused(client, "edit_page", "handbook/guide", **edit)

    assert "handbook/guide: " in edited["sync"]
    assert "conflict" in again["held"]
    assert "is held" in said
    assert (await cloned.wiki())["guide.md"] == "a person's guide\n"
    assert "a person's guide" in cloned.read("guide.conflict.md")


async def test_page_as_it_was_synced_is_read_without_a_status(
    cloned: Cloned, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status reads every page of the folder, for each page that an agent reads."""
    scanned: list[object] = []

    async def noted(*words: Any) -> Any:
        scanned.append(words)
        return await scan(*words)

    monkeypatch.setattr(agent, "scan", noted)
    async with session() as client:
        await call(client, "read_page", "home")
        assert not scanned
        cloned.write("home.md", "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n")
        page = await call(client, "read_page", "home")

    assert len(scanned) == 1
    assert "git conflict markers" in page["held"]


async def test_created_page_has_a_history(cloned: Cloned, session: Session) -> None:
    async with session("--sync") as client:
        made = await call(client, "create_page", "team/plan", text="# Plan\n")
        twice = await refused(client, "create_page", "handbook/home", text="x\n")
        history = await call(client, "page_history", "team/plan")

    assert made["sync"] == "synced"
    assert (await cloned.wiki())["team/plan.md"] == "# Plan\n"
    assert "there is a page handbook/home" in twice
    assert history["synced"][0]["what"].startswith("create")


async def test_delete_has_to_be_allowed(cloned: Cloned, session: Session) -> None:
    async with session() as client:
        cloned.write("our notes.md", "ours\n")
        version = (await call(client, "read_page", "our notes"))["version"]
        dry = await call(client, "delete_page", "our notes", version=version)
        assert "our notes.md" in cloned.files()
    async with session("--allow-delete") as client:
        gone = await call(client, "delete_page", "our notes", version=version)

    assert dry["outcome"] == "nothing was deleted"
    assert "our notes.md" not in cloned.files()
    assert (await cloned.run(*shlex.split(gone["undo"])[1:])).code == 0
    assert cloned.files()["our notes.md"] == "ours\n"


async def test_deletion_sends_nothing_below(cloned: Cloned, session: Session) -> None:
    async with session("--sync", "--allow-delete") as client:
        made = await call(client, "create_page", "team", text="# Team\n")
        cloned.write("team/rules.md", "not ready\n")
        await call(client, "delete_page", "team", version=made["version"])

    assert (await cloned.wiki())["team/rules.md"] == PAGES["team/rules"]


async def test_nothing_outside_is_read(cloned: Cloned, session: Session) -> None:
    names = ["handbook/../wikisync.toml", "../outside", "/etc/passwd", "wikisync.toml"]
    names += ["handbook", "handbook/", ""]
    before = {*cloned.root.rglob("*.*")}

    async with session() as client:
        for name in names:
            await refused(client, "read_page", name)
            await refused(client, "create_page", name, text="x\n")

    assert {*cloned.root.rglob("*.*")} == before


async def test_read_only_offers_no_tool_that_writes(session: Session) -> None:
    async with session("--read-only") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}

    assert tools == {"list_pages", "search_pages", "read_page", "page_history"}


async def test_long_page_is_read_in_parts(cloned: Cloned, session: Session) -> None:
    text = "".join(f"line {number}\n" for number in range(9_000))
    cloned.write("long.md", text)

    async with session() as client:
        first = await call(client, "read_page", "long")
        rest = await call(client, "read_page", "long", offset=first["next_offset"])
        edit = {"text": first["text"], "version": first["version"]}
        why = await refused(client, "edit_page", "handbook/long", **edit)

    assert "give the passage that changes" in why
    assert cloned.read("long.md") == text
    assert len(first["text"]) < len(text)
    assert (first["text"] + rest["text"])[: len(text)] in text


async def test_query_of_a_whole_book_is_refused(session: Session) -> None:
    """Each word is looked for in each line of each page."""
    async with session() as client:
        found = await call(client, "search_pages", query="be kind " * 50_000)
        answer = await client.call_tool(
            "search_pages", {"query": " ".join(map(str, range(51)))}
        )

    assert found["total"] == 1
    assert answer.is_error


@pytest.mark.parametrize("slug", ["uploads/x", "a\0b"])
async def test_name_that_no_sync_could_carry_is_refused(
    cloned: Cloned, session: Session, slug: str
) -> None:
    async with session() as client:
        why = await refused(client, "create_page", f"handbook/{slug}", text="x\n")

    assert "cannot be the name of a page" in why
    assert sorted(cloned.root.rglob("*%*")) == []


def test_agent_that_is_gone_is_no_traceback(cloned: Cloned) -> None:
    command = [sys.executable, "-m", "wikisync", "mcp", "-C", str(cloned.root)]

    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: standard input is closed\n"
        "hint: start it from a program or terminal that is connected to its input\n"
    )


async def test_missing_extra_is_named(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)

    ran = await cloned.run("mcp")

    assert ran.code == 2
    assert "its extra mcp" in ran.err, ran.err
