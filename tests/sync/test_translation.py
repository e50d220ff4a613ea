"""Pictures beside the pages, on a real disk and a real wiki (I7)."""

import pytest

from tests.support.pair import OWNER, Pair
from tests.support.pictures import (
    BLUE,
    RED,
    UPLOADED,
    count_uploads,
    put,
    shown,
    there,
    upload_of,
)
from wikisync.core.model import Format
from wikisync.core.system import file_status
from wikisync.errors import Rejected
from wikisync.folder import index
from wikisync.markup import retarget
from wikisync.workspace import linking

WAYS = {
    Format.MARKDOWN: ("# Home\n\n![red](red.png)\n", "`red.png`"),
    Format.RDOC: ("= Home\n\n{red}[red.png]\n", "  red.png"),
    Format.ASCIIDOC: ("= Home\n\nimage::red.png[red]\n", "----\nred.png\n----"),
    Format.ORG: ("* Home\n\n[[file:red.png][red]]\n", "=red.png="),
}


@pytest.mark.parametrize("page_format", WAYS)
async def test_a_picture_beside_a_page_is_uploaded_in_each_format(
    pair: Pair, page_format: Format
) -> None:
    text, code = WAYS[page_format]
    put(pair, "red.png", RED)
    source = f"{text}\n{code}\n"
    pair.save(f"home{page_format.extensions[0]}", source)
    await pair.rest()
    path = await upload_of(pair)
    assert code in await there(pair)
    assert (await there(pair)).replace(path, "red.png") == source
    assert pair.texts()["home"] == source


async def test_a_picture_is_uploaded_once_for_many_pages(pair: Pair) -> None:
    sent = count_uploads(pair)
    put(pair, "red.png", RED)
    for slug in ("home", "guide", "notes"):
        pair.save(slug, f"{slug}: ![red](red.png)\n")
    await pair.rest()
    assert len(sent) == 1
    assert await upload_of(pair, "home") == await upload_of(pair, "notes")


async def test_a_picture_that_is_refused_keeps_its_page_and_breaks_nothing(
    pair: Pair,
) -> None:
    put(pair, "red.png", RED)
    pair.save("home", "before\n")
    pair.save("other", "other\n")
    await pair.rest()

    async def refused(path: str, _chunks: object) -> object:
        raise Rejected(f"{path} is too large")

    pair.remote._wiki.write_attachment = refused  # type: ignore[assignment,method-assign]
    pair.save("home", "![red](red.png)\n")
    pair.save("other", "edited\n")
    result = await pair.cycle()
    assert [one.subject for one in result.problems] == ["home"]
    assert await there(pair) == "before\n"
    assert await there(pair, "other") == "edited\n"
    assert pair.texts()["home"] == "![red](red.png)\n"


async def test_nothing_outside_the_folder_is_uploaded(pair: Pair) -> None:
    put(pair, "../secret.png", RED)
    (pair.folder / "link.png").symlink_to(pair.folder / "../secret.png")
    text = "![a](../secret.png) ![b](link.png)\n"
    pair.save("home", text)
    sent = count_uploads(pair)
    await pair.rest()
    assert sent == []
    assert await there(pair) == text


async def test_a_start_with_nothing_new_parses_no_page_and_reads_no_picture(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 2,000 pictures a sync with nothing to do took five seconds.

    The name of one is the end of another's.
    """
    for number in (0, 10, 210):
        put(pair, f"pictures/{number}.png", RED + bytes([number]))
        links = f"![a](pictures/{number}.png)\n![b](<./pictures/{number}.png>)\n"
        pair.save(f"page{number}", links)
    await pair.rest()
    monkeypatch.setattr(file_status, "SETTLED_NS", -1)
    await pair.rest()
    pair.restart()

    def refuse(*_file: object) -> None:
        raise AssertionError("a picture was read, or a page parsed")

    monkeypatch.setattr(retarget, "parse_page", refuse)
    monkeypatch.setattr(index, "read_chunks", refuse)

    assert (await pair.cycle()).is_quiet


# -- links as the person wrote them --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "links"),
    [
        ("home.md", "![](red.png) ![](copy.png) ![](./red.png) [d](red.png#x)\n", 4),
        ("home.md", "![a](<red one.png>) ![b](red%20one.png) `red.png`\n", 2),
        ("home.org", "* Home\n[[file:red.png]] [[./red.png]] [[file:copy.png]]\n", 3),
        ("home.adoc", "image:red.png[] link:++red one.png++[] image:copy.png[]\n", 3),
        ("home.rdoc", "{a}[red.png] {b}[copy.png] {c}[red%20one.png]\n", 3),
    ],
)
async def test_every_link_stays_as_it_was_written(
    pair: Pair, name: str, text: str, links: int
) -> None:
    """Several spellings, and several files of one content, are one upload."""
    for file in ("red.png", "copy.png", "red one.png"):
        put(pair, file, RED)
    pair.save(name, text)
    await pair.rest()
    assert len(UPLOADED.findall(await there(pair))) == links
    pair.restart()
    assert (await pair.cycle()).is_quiet
    await pair.service.put_files(OWNER, {name: f"{await there(pair)}more\n".encode()})
    await pair.rest()
    assert pair.texts()["home"] == f"{text}more\n"


async def test_a_link_added_on_the_wiki_leads_to_the_file_here(pair: Pair) -> None:
    put(pair, "red.png", RED)
    pair.save("home", "![a](./red.png)\n")
    pair.save("sub/page", "![a](../red.png)\n")
    await pair.rest()
    path = await upload_of(pair)
    await pair.edit("home", f"![a]({path}) [again]({path}) `{path}`\n")
    await pair.edit("sub/page", f"![a]({path}) [again](../{path})\n")
    await pair.rest()
    assert pair.texts() == {
        "home": f"![a](./red.png) [again](./red.png) `{path}`\n",
        "sub/page": f"![a](../red.png) [again](../{path})\n",
    }


async def test_a_wikilink_starts_at_the_root_both_ways(pair: Pair) -> None:
    put(pair, "red.png", RED)
    pair.save("sub/page", "[[red.png]] [a](red.png)\n")
    await pair.rest()
    path = await upload_of(pair, "sub/page")
    assert await there(pair, "sub/page") == f"[[{path}]] [a](red.png)\n"
    pair.restart()
    assert (await pair.cycle()).is_quiet
    await pair.edit("sub/page", f"more [[{path}]] [a](red.png)\n")
    await pair.rest()
    assert pair.texts()["sub/page"] == "more [[red.png]] [a](red.png)\n"


async def test_a_picture_that_is_too_large_keeps_its_page_and_is_named(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linking, "FILE_BYTES_MAX", len(RED) - 1)
    put(pair, "red.png", RED)
    pair.save("home", "![a](red.png)\n")
    result = await pair.cycle()
    (problem,) = result.problems
    assert "red.png, which home links to, is larger than" in problem.message
    assert "home" not in await pair.wiki_texts()


async def test_a_link_to_the_upload_itself_stays_one(pair: Pair) -> None:
    put(pair, "red.png", RED)
    pair.save("home", "![a](red.png)\n")
    await pair.rest()
    path = await upload_of(pair)
    text = f"[b]({path}) ![a](red.png) [c]({path}#x)\n"
    pair.save("home", text)
    await pair.rest()
    assert pair.texts()["home"] == text
    pair.restart()
    assert (await pair.cycle()).is_quiet


# -- names in other forms of Unicode, and hidden folders ------------------------------

COMPOSED, DECOMPOSED = "gr\u00fcn", "gru\u0308n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (f"{DECOMPOSED}.png", f"![g]({COMPOSED}.png)\n"),
        (f"{DECOMPOSED}.png", "![g](gr%C3%BCn.png)\n"),
        (f"{DECOMPOSED}.png", "![g](gr&uuml;n.png)\n"),
        (f"{DECOMPOSED}.png", "![g](gr&#252;n.png)\n"),
        (f"{COMPOSED}.png", f"![g]({DECOMPOSED}.png)\n"),
        (f"{COMPOSED}.png", "![g](gru%CC%88n.png)\n"),
        (f"{DECOMPOSED}/{COMPOSED} 1.png", f"![g](<{COMPOSED}/{DECOMPOSED} 1.png>)\n"),
        (".attachments/a b.png", "![g](/.attachments/a%20b.png)\n"),
        (".attachments/a.png", "![g](.attachments/a.png)\n"),
    ],
)
async def test_a_picture_is_found_however_its_name_is_spelled(
    pair: Pair, file: str, text: str
) -> None:
    put(pair, file, RED)
    pair.save("home", text)
    await pair.rest()
    assert await shown(pair) == RED
    assert pair.texts()["home"] == text
    earlier = await there(pair)
    put(pair, file, BLUE)
    await pair.rest()
    assert await shown(pair) == BLUE
    pair.restart()
    assert (await pair.cycle()).plan.actions == ()
    await pair.edit("home", earlier)
    await pair.rest()
    assert pair.texts()["home"] == await there(pair) == earlier


@pytest.mark.parametrize("file", [".ssh/id", ".git/a.png", ".obsidian/app.json"])
async def test_what_a_program_keeps_in_a_hidden_folder_is_not_uploaded(
    pair: Pair, file: str
) -> None:
    put(pair, file, RED)
    pair.save("home", f"![g]({file})\n")
    await pair.rest()
    assert await there(pair) == f"![g]({file})\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("![r](red.png) and ![gone](gone.png) `code.png` node.js\n", ["gone.png"]),
        (
            "[[file|docs/gone.pdf]] ![g](img/gone%20too.png)\n",
            ["docs/gone.pdf", "img/gone too.png"],
        ),
        ("[a page](notes.md) [another](release-1.2) ![far](https://x.org/a.png)\n", []),
        ("![on the wiki](wiki.png)\n", []),
    ],
)
async def test_a_link_to_a_file_that_is_nowhere_is_told_when_its_page_is_sent(
    pair: Pair, text: str, told: list[str]
) -> None:
    await pair.service.put_file(OWNER, "wiki.png", BLUE)
    put(pair, "red.png", RED)
    pair.save("notes", "notes\n")
    pair.save("home", text)
    result = await pair.cycle()
    assert [(one.subject, one.message.split(",")[0]) for one in result.absent] == [
        ("home", f"links to {way}") for way in told
    ]
    assert result.problems == (await pair.cycle()).absent == ()
