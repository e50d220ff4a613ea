"""Rendered pages: their links, no scripts, their includes; none holds others up."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.service.conftest import GROUP_WIKIS, PROJECT, WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.core.model import Slug
from wikisync.core.system.processes import Child
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.pages import ShownPage
from wikisync.service.rendering import (
    INCLUDED_BYTES_MAX,
    RenderJob,
    RenderPool,
    included_text,
)
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Rendering
from wikisync.service.slots import NoSlot, Slots


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    files = {
        "dir/part.adoc": b"part",
        "root.md": b"root",
        "uploads/0f/data.csv": b"a,b",
        "binary.md": b"\0",
        "huge.md": b"x" * (INCLUDED_BYTES_MAX + 1),
    }
    made = WikiRepository(tmp_path / "r.git")
    made.change(lambda _tree: CommitPlan("m", writes=files), Author("n", "e"))
    return made


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("part.adoc", "part"),
        ("part", "part"),
        ("../root.md", "root"),
        ("../uploads/0f/data.csv", "a,b"),
        ("../../root.md", None),
        ("/etc/passwd", None),
        ("../binary.md", None),
        ("../huge.md", None),
        ("none.adoc", None),
    ],
)
def test_include_finds_files_of_the_wiki_only(
    repository: WikiRepository, target: str, text: str | None
) -> None:
    found = included_text(repository.tree(), repository, Slug("dir/page"), target)

    assert found == text


async def test_page_is_rendered_with_links_of_the_project(
    service: EmbeddedService, api: Api
) -> None:
    text = "# Head\n\n[next](dir/page) ![pic](uploads/0f/a.png)"
    await service.add_project("docs/handbook", {"home": text, "dir/page": ""})
    await service.put_file(PROJECT, "uploads/0f/a.png", b"PNG")

    answer = await api.get(f"{WIKIS}/home?render_html=1")

    html = answer.json["content"]
    assert 'href="/docs/handbook/-/wikis/dir/page"' in html
    assert 'src="/docs/handbook/-/wikis/uploads/0f/a.png"' in html
    assert answer.json["front_matter"] == {}


async def test_group_page_is_rendered_with_links_of_the_group(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_group("docs", {"home": "[next](a)", "a": ""})

    answer = await api.get(f"{GROUP_WIKIS}/home?render_html=true")

    assert 'href="/groups/docs/-/wikis/a"' in answer.json["content"]


async def test_rendered_page_is_safe(service: EmbeddedService, api: Api) -> None:
    await service.add_project("docs/handbook", {"home": "<script>x</script>ok"})

    answer = await api.get(f"{WIKIS}/home?render_html=1")

    assert "<script" not in answer.json["content"]


async def test_list_does_not_render(service: EmbeddedService, api: Api) -> None:
    await service.add_group("docs", {"home": "# x"})

    answer = await api.get(f"{GROUP_WIKIS}?with_content=1&render_html=1")

    assert answer.json[0]["content"] == "# x"


TEXT = "# Head\n\n[next](dir/page) <script>alert(1)</script>\n"
PAGES = "/docs/handbook/-/wikis"


async def test_page_can_be_read_where_it_is_shown_and_edited(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project(
        "docs/handbook", {"home": TEXT, "dir/page": TEXT}, visibility="public"
    )

    for path in ("", "/home", "/home/edit", "/dir/page", "/dir/page/edit"):
        answer = await api.as_user(None).get(PAGES + path)

        html, headers = answer.body.decode(), answer.headers
        assert answer.status == 200, path
        assert headers["Content-Type"].startswith("text/html")
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert 'href="/docs/handbook/-/wikis/dir/page"' in html
        assert "<script" not in html
        assert html.count("<h1") == 1


async def test_page_of_a_group_can_be_read(service: EmbeddedService, api: Api) -> None:
    await service.add_group("docs", {"home": "Text of the group"})

    answer = await api.get("/groups/docs/-/wikis/home/edit")

    assert "Text of the group" in answer.body.decode()


async def test_title_of_a_page_is_text(service: EmbeddedService, api: Api) -> None:
    await service.add_project("docs/handbook", {"a<b>{path}": "x {title}"})

    html = (await api.get(f"{PAGES}/a%3Cb%3E%7Bpath%7D")).body.decode()

    assert "<h1>a&lt;b&gt;{path}</h1>" in html
    assert "x {title}" in html


async def test_page_that_is_not_there_is_not_found(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": TEXT})

    for path in ("/none", "/none/edit", "/home.md"):
        answer = await api.get(PAGES + path)

        assert (answer.status, answer.json) == (404, {"error": "404 Not Found"}), path


async def test_page_of_a_private_wiki_is_shown_to_those_who_may_read_it(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": TEXT})

    stranger = api.as_user(None)
    refused = await stranger.get(f"{PAGES}/home")
    none = await stranger.get("/docs/none/-/wikis/home")
    shown = await stranger.get(f"{PAGES}/home?private_token={service.token}")

    assert (refused.status, refused.json) == (none.status, none.json)
    assert refused.status == 404
    assert shown.status == 200


@pytest.fixture
async def pool() -> AsyncIterator[RenderPool]:
    made = RenderPool(Rendering(deadline_s=60.0, processes_max=1))
    yield made
    await made.close()


def job_of(repository: WikiRepository, content: str) -> RenderJob:
    page = ShownPage(
        format="markdown",
        slug="home",
        title="home",
        content=content,
        encoding="UTF-8",
        front_matter={},
    )
    return RenderJob(
        page,
        str(repository.path),
        repository.tree().commit or "",
        "project",
        "docs/book",
        "http://127.0.0.1",
    )


async def test_page_over_the_deadline_is_its_source_and_the_next_is_rendered(
    repository: WikiRepository,
) -> None:
    pool = RenderPool(Rendering(deadline_s=5.0, processes_max=1))
    await stop_process(pool, repository)
    late = await pool.render(job_of(repository, "<b>**x**"), is_stranger=True)
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    await pool.close()

    assert "<pre>&lt;b&gt;**x**" in late
    assert "took too long" in late
    assert "<strong>x</strong>" in html


async def test_process_that_died_is_replaced(
    pool: RenderPool, repository: WikiRepository
) -> None:
    process = await stop_process(pool, repository)
    process.kill()
    process.wait()

    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)

    assert "<strong>x</strong>" in html


async def test_process_ends_with_the_caller(
    pool: RenderPool, repository: WikiRepository
) -> None:
    process = await stop_process(pool, repository)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await pool.render(job_of(repository, "x"), is_stranger=True)

    assert process.poll() is not None
    html = await pool.render(job_of(repository, "**x**"), is_stranger=True)
    assert "<strong>x</strong>" in html


async def stop_process(pool: RenderPool, repository: WikiRepository) -> Child:
    """Let the one process of a pool take for ever from now on."""
    await pool.render(job_of(repository, "x"), is_stranger=True)
    [worker] = pool._idle
    process = worker._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    return process


async def test_strangers_have_half_of_the_places() -> None:
    slots = Slots(at_once=2, waiting_max=0, waiting_s=30.0)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(slots.taken(is_stranger=True))
        with pytest.raises(NoSlot):
            await stack.enter_async_context(slots.taken(is_stranger=True))

        await stack.enter_async_context(slots.taken(is_stranger=False))


async def test_who_may_not_wait_is_sent_away_at_once() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    free = asyncio.Event()
    done: list[str] = []

    async def work(name: str) -> None:
        async with slots.taken(is_stranger=False):
            await free.wait()
            done.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(work("first"))
        group.create_task(work("second"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(NoSlot):
            await work("third")
        free.set()

    assert done == ["first", "second"]


async def test_waiting_ends() -> None:
    slots = Slots(at_once=1, waiting_max=5, waiting_s=0.05)
    async with slots.taken(is_stranger=False):
        with pytest.raises(NoSlot):
            async with slots.taken(is_stranger=False):
                pass

    async with slots.taken(is_stranger=False):
        pass


async def test_who_leaves_while_waiting_gives_the_place_back() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    async with slots.taken(is_stranger=True):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), slots.taken(is_stranger=False):
                pass
    async with slots.taken(is_stranger=True), AsyncExitStack():
        pass
