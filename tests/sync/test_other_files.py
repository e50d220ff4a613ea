"""Files of the wiki's repository, uploads aside, that pages link to (real parts)."""

from urllib.parse import unquote

import pytest

from tests.support.git import needs_git
from tests.support.pair import OWNER, Pair
from tests.support.pictures import BLUE, RED, count_uploads, put, there, upload_of
from tests.support.quirks import Quirk

GREEN = RED + b" and green"
pytestmark = needs_git


async def push(pair: Pair, files: dict[str, str | bytes]) -> None:
    """Somebody pushes files to the wiki by git."""
    content = {
        path: one.encode() if isinstance(one, str) else one
        for path, one in files.items()
    }
    await pair.service.put_files(OWNER, content)


def files_here(pair: Pair) -> dict[str, bytes]:
    """What the folder holds besides pages."""
    return {
        path.relative_to(pair.folder).as_posix(): path.read_bytes()
        for path in pair.folder.rglob("*")
        if path.is_file() and path.suffix not in {".md", ".asciidoc", ".org", ".rdoc"}
    }


@pytest.mark.parametrize(
    ("page", "text", "file"),
    [
        ("home.md", "![p](img/p.png)\n", "img/p.png"),
        ("home.md", "![p](./img/p.png)\n", "img/p.png"),
        ("a/b.md", "![p](p.png)\n", "a/p.png"),
        ("a/b.md", "![p](../img/p.png)\n", "img/p.png"),
        ("a/b.md", "![p](/img/p.png)\n", "img/p.png"),
        ("a/b.md", "[[img/p.png]]\n", "img/p.png"),
        ("a/b.md", "[[Red|img/my p.png]]\n", "img/my p.png"),
        ("home.md", "![p](<my p.png>)\n", "my p.png"),
        ("home.md", "![p](my%20p.png)\n", "my p.png"),
        ("home.md", '![p](p_(1).png "red (1)")\n', "p_(1).png"),
        ("home.md", "![p][1]\n\n[1]: img/p.png\n", "img/p.png"),
        ("home.md", '<img src="img/my p.png" width="9">\n', "img/my p.png"),
        ("home.md", "<a href=data.csv>data</a>\n", "data.csv"),
        ("home.md", "[[a manual]](docs/manual.pdf#page=3)\n", "docs/manual.pdf"),
        ("home.md", "![p](.attachments/p-1.png)\n", ".attachments/p-1.png"),
        ("a/b.md", "![p](/.attachments/my%20p.png)\n", ".attachments/my p.png"),
        ("a/b.md", "![p](../.gitbook/assets/p.png)\n", ".gitbook/assets/p.png"),
        ("home.md", "[l](files/LICENSE) [h](home)\n", "files/LICENSE"),
        ("home.md", "[l](LICENSE) [h](home)\n", "LICENSE"),
        ("a/b.md", "[l](LICENSE)\n", "LICENSE"),
        ("home.md", "[m](man.1)\n", "man.1"),
        ("home.md", "![p](_a,b.png)\n", "_a,b.png"),
        ("home.asciidoc", "image::img/p.png[red]\n", "img/p.png"),
        ("home.asciidoc", ":imagesdir: img\n\nimage::p.png[red]\n", "img/p.png"),
        ("home.asciidoc", "See link:a.tar.gz[all].\n", "a.tar.gz"),
        ("home.org", "[[file:img/my p.png][red]]\n", "img/my p.png"),
        ("home.org", "[[./img/p.png]]\n", "img/p.png"),
        ("home.rdoc", "{red}[img/p.png]\n", "img/p.png"),
    ],
)
async def test_file_that_a_page_links_to_is_fetched_wherever_it_is(
    pair: Pair, page: str, text: str, file: str
) -> None:
    await push(pair, {page: text, file: RED, "img/other.png": BLUE})
    result = await pair.rest()
    assert (result.problems, result.absent) == ((), ())
    assert files_here(pair) == {file: RED}


async def test_file_that_changes_on_the_wiki_changes_here(pair: Pair) -> None:
    sent = count_uploads(pair)
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    await pair.rest()
    for content in (BLUE, GREEN, RED):
        await push(pair, {"img/p.png": content})
        await pair.rest()
        assert files_here(pair) == {"img/p.png": content}
    assert sent == []


async def test_file_that_is_another_one_here_stays_and_is_named(pair: Pair) -> None:
    put(pair, "img/p.png", BLUE)
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    first = await pair.cycle()
    assert [one.subject for one in first.absent] == ["img/p.png"]
    assert files_here(pair) == {"img/p.png": BLUE}


async def test_file_that_changes_by_git_alone_is_read_by_its_id(pair: Pair) -> None:
    """The repository that was fetched a moment ago has an older one."""
    pair.service.quirks = {Quirk.FILES_NEED_SESSION}
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    await pair.rest()
    await push(pair, {"img/p.png": BLUE})
    await pair.rest()
    assert files_here(pair) == {"img/p.png": BLUE}


async def test_file_that_a_person_changes_is_sent_and_not_written_over(
    pair: Pair,
) -> None:
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    await pair.rest()
    put(pair, "img/p.png", BLUE)
    await pair.rest()
    await push(pair, {"img/p.png": GREEN})
    await pair.rest()
    assert files_here(pair) == {"img/p.png": BLUE}
    assert pair.texts()["home"] == "![p](img/p.png)\n"
    files = await pair.service.files(OWNER)
    assert (files[await upload_of(pair)], files["img/p.png"]) == (BLUE, GREEN)


async def test_file_that_is_here_and_there_is_not_uploaded(pair: Pair) -> None:
    sent = count_uploads(pair)
    put(pair, "img/p.png", RED)
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    await pair.rest()
    await push(pair, {"img/p.png": BLUE})
    await pair.rest()
    assert sent == []
    assert files_here(pair) == {"img/p.png": BLUE}


async def test_file_that_is_gone_from_the_wiki_stays_here_and_is_named(
    pair: Pair,
) -> None:
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    await pair.rest()
    await pair.service.remove_file(OWNER, "img/p.png")
    assert [one.message for one in (await pair.cycle()).absent] == [
        "img/p.png was removed on the wiki, and stays here"
    ]
    assert (await pair.cycle()).absent == ()
    assert files_here(pair) == {"img/p.png": RED}
    put(pair, "img/p.png", BLUE)
    await pair.rest()
    assert "uploads/" in await there(pair)


@pytest.mark.parametrize(
    "path",
    [
        ".wikisync/a.png",
        ".obsidian/plugins/a/main.js",
        "img/.hidden.png",
        ".vscode/tasks.json",
        "wikisync.toml",
    ],
)
async def test_file_that_is_a_program_s_own_is_never_written(
    pair: Pair, path: str
) -> None:
    await push(pair, {"home.md": f"![p]({path})\n"})
    await pair.rest()
    before = files_here(pair)
    await push(pair, {path: RED})
    first = await pair.rest()
    assert files_here(pair) == before
    assert [one.subject for one in first.absent] == [path]


async def test_without_git_another_file_here_does_not_take_the_place_of_the_wiki_s(
    pair: Pair,
) -> None:
    """Also where both sides have the page from the beginning."""
    put(pair, "img/p.png", BLUE)
    pair.save("home.md", "![p](img/p.png)\n")
    pair.save("new.md", "![p](q.png)\n")
    await push(pair, {"home.md": "![p](img/p.png)\n", "img/p.png": RED})
    pair.service.quirks = {Quirk.NO_GIT}
    sent = count_uploads(pair)
    await pair.cycle()
    pair.save("home.md", "![p](img/p.png) edited\n")
    await pair.rest()
    pair.restart()
    await pair.rest()
    assert (await there(pair), sent) == ("![p](img/p.png) edited\n", [])
    put(pair, "q.png", BLUE)
    put(pair, "img/p.png", BLUE + b"!")
    await pair.rest()
    assert "uploads/" in await there(pair)
    assert "uploads/" in await there(pair, "new")


@pytest.mark.parametrize("pattern", ["/secret/", "*.png", "secret/p.png"])
async def test_file_that_a_person_keeps_out_is_not_fetched(
    pair: Pair, pattern: str
) -> None:
    pair.asks_git = True
    pair.restart()
    put(pair, ".wikisyncignore", pattern.encode())
    await push(pair, {"home.md": "![p](secret/p.png)\n", "secret/p.png": RED})
    result = await pair.rest()
    assert (result.problems, result.absent) == ((), ())
    assert files_here(pair).keys() == {".wikisyncignore"}
    (pair.folder / ".wikisyncignore").unlink()
    await pair.rest()
    assert files_here(pair) == {"secret/p.png": RED}


@pytest.mark.parametrize("way", ["img/p.png", f"uploads/{'1' * 32}/p.png"])
async def test_file_that_is_gone_here_comes_back_though_the_wiki_stays_as_it_is(
    pair: Pair, way: str
) -> None:
    pair.asks_git = True
    pair.restart()
    await push(pair, {"home.md": f"![p]({way})\n", way: RED})
    await pair.rest()
    assert pair.known.memory.files_at  # nobody looks for files any more
    pair.restart()
    await pair.rest()
    (pair.folder / way).unlink()
    await pair.rest()
    assert files_here(pair) == {way: RED}


@pytest.mark.parametrize("file", [".ssh/key.pdf", "venv/key.pdf", "%23recycle/a.pdf"])
async def test_file_of_a_folder_that_is_left_out_is_sent_for_a_link_written_here(
    pair: Pair, file: str
) -> None:
    """Somebody else may guess what is in such folders."""
    put(pair, unquote(file), BLUE)
    pair.save("home.md", "one\n")
    await pair.rest()
    await pair.edit("home", f"one [a]({file})\n")
    await pair.rest()
    pair.restart()
    sent = count_uploads(pair)
    await pair.rest()
    pair.save("home.md", f"two [a]({file})\n")
    await pair.rest()
    assert (await there(pair), sent) == (f"two [a]({file})\n", [])
    pair.save("mine.md", f"[a]({file})\n")
    await pair.rest()
    assert "uploads/" in await there(pair, "mine")
    put(pair, unquote(file), RED)
    await pair.rest()
    assert len(sent) == 2
