"""Rendered pages: links of their owner, no scripts, includes of their wiki alone."""

from pathlib import Path

import pytest

from tests.service.conftest import GROUP_WIKIS, PROJECT, WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.core.model import Slug
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.rendering import INCLUDED_BYTES_MAX, included_text
from wikisync.service.repository import WikiRepository


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
