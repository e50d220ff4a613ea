"""``wikisync render`` as it is called."""

import asyncio
import io
import os
import sys
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.unreadable import unreadable_folder
from wikisync.markup.bounded import BoundedParser
from wikisync.workspace.page_files import FILE_BYTES_MAX, include_from


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a page, a page below it, an attachment and a stranger."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "uploads" / "aa").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "home.md").write_text("# Hi\n[s](sub/page) ![p](uploads/aa/p.png)\n")
    (tmp_path / "sub" / "page.rdoc").write_text("= Sub\n\ntext\n")
    (tmp_path / "uploads" / "aa" / "p.png").write_bytes(b"\x89PNG")
    (tmp_path / "notes.xyz").write_text("x")
    (tmp_path / ".git" / "hidden.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def render(run_alone: Run, wiki: Path) -> Run:
    """Render in the folder of the wiki."""
    assert Path.cwd() == wiki

    async def call(*words: str | Path) -> Ran:
        return await run_alone("render", *words)

    return call


async def test_page_is_printed_with_its_links(render: Run) -> None:
    ran = await render("home.md")
    assert ran.code == 0
    assert '<a href="sub/page.html">s</a>' in ran.out
    assert '<img src="uploads/aa/p.png" alt="p"' in ran.out


async def test_folder_is_written_file_by_file(render: Run, wiki: Path) -> None:
    assert (await render(".", "-o", "out")).code == 0
    written = sorted(p.relative_to(wiki / "out") for p in wiki.glob("out/**/*.html"))
    assert written == [Path("home.html"), Path("sub/page.html")]
    assert 'href="sub/page.html"' in (wiki / "out" / "home.html").read_text()


async def test_folder_as_json_is_an_array_and_a_file_an_object(render: Run) -> None:
    every, one = await render(".", "--json"), await render("home.md", "--json")
    assert (every.code, one.code) == (0, 0)
    assert [(r["file"], r["format"], r["title"]) for r in every.json] == [
        ("home.md", "markdown", "Hi"),
        ("sub/page.rdoc", "rdoc", "Sub"),
    ]
    assert one.json["toc"] == [{"level": 1, "id": "hi", "text": "Hi"}]
    assert [link["kind"] for link in one.json["links"]] == ["page", "attachment"]
    assert one.json["problems"] == []


@pytest.mark.parametrize(
    ("words", "expected"), [([], "<h1"), (["-f", "rdoc"], "<p># x")]
)
async def test_standard_input_is_markdown_unless_told(
    render: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"# x\n")))
    ran = await render("-", *words)
    assert (ran.code, expected in ran.out) == (0, True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("odd.xyz", b"x", "the format of odd.xyz cannot be determined from its name"),
        ("latin.md", b"caf\xe9", "latin.md is not UTF-8: byte 3 is wrong"),
    ],
)
async def test_file_that_cannot_be_read_is_reported_and_the_others_go_on(
    render: Run, wiki: Path, name: str, content: bytes, message: str
) -> None:
    (wiki / name).write_bytes(content)
    ran = await render(name, "home.md")
    assert (ran.code, "<h1" in ran.out) == (1, True)
    assert f"error: {message}" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gone.md", "error: there is no file or folder gone.md"),
        ("--format nope", "'nope' is not one of"),
        ("--markup maths=source", 'unknown key (did you mean "math"?)'),
        ("--markup math=latex", 'must be "mathml" or "source"'),
        ("--markup math", "--markup math is not NAME=VALUE"),
        ("--markup emoji=yes", "expected true or false"),
    ],
)
async def test_wrong_argument_is_told_before_anything_is_rendered(
    render: Run, words: str, told: str
) -> None:
    ran = await render("home.md", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


async def test_problems_are_shown_with_file_and_line(render: Run, wiki: Path) -> None:
    (wiki / "film.md").write_text("# Film\n\n<video src='a.mp4'></video>\n")
    ran = await render("film.md")
    assert (ran.code, "<h1" in ran.out) == (0, True)
    assert ran.err.startswith("warning: film.md:3: the tag <video ")


async def test_format_given_by_hand_wins_over_the_name(render: Run) -> None:
    ran = await render("notes.xyz", "--format", "markdown")
    assert (ran.code, ran.out) == (0, "<p>x</p>\n")


async def test_folder_without_pages_is_an_error(render: Run) -> None:
    (await render("uploads")).ended(1, "no page in the folder")


async def test_unwritable_output_is_an_error(render: Run, wiki: Path) -> None:
    (wiki / "out/home.html").mkdir(parents=True)
    (await render("home.md", "-o", "out")).ended(1, "cannot write out/home.html")


async def test_unrenderable_page_fails_but_is_shown(render: Run, wiki: Path) -> None:
    (wiki / "big.md").write_text("x" * (1024 * 1024 + 1))
    ran = await render("big.md")
    ran.ended(1, "big.md: it has 1048577 bytes, more than 1048576")
    assert "shown as source" in ran.out


async def test_file_larger_than_the_limit_is_refused(
    render: Run, wiki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.workspace.page_files.FILE_BYTES_MAX", 10)
    (wiki / "big.md").write_text("x" * 11)
    ran = await render("big.md")
    ran.ended(1, "big.md has more than 10 bytes")
    assert "hint: divide it into shorter pages" in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="a file that gives an error")
async def test_file_that_cannot_be_read_is_told_with_a_step(
    render: Run, wiki: Path
) -> None:
    (wiki / "odd.md").symlink_to("/proc/self/mem")
    ran = await render("odd.md")
    ran.ended(1, "cannot read odd.md: the disk reports an error\nhint: check")


async def test_broken_link_is_told_with_its_line(render: Run, wiki: Path) -> None:
    (wiki / "sub" / "odd.md").write_text("# T\n\n[ok](home) and\n[x](gone)\n")
    ran = await render("sub/odd.md", "--json")
    ran.ended(0, "sub/odd.md:4: gone: there is no such page")
    links = [(link["href"], link["line"]) for link in ran.json["links"]]
    assert links == [("home", 3), ("gone", 4)]


async def test_folder_leads_to_its_start_as_in_a_site(render: Run, wiki: Path) -> None:
    """``check`` counted 1 broken link where ``render`` told 3."""
    (wiki / "posts/bundle").mkdir(parents=True)
    (wiki / "posts/bundle/index.md").write_text("# T\n")
    (wiki / "a.md").write_text("[1](posts/bundle/) [2](posts/bundle) [3](posts/)\n")
    ran = await render("a.md")
    ran.ended(0, "a.md:1: posts/: there is no such page")
    assert ran.out.count('href="posts/bundle/index.html"') == 2


async def test_option_wins_over_the_settings(render: Run, wiki: Path) -> None:
    (wiki / "sub" / "code.md").write_text("```py\nx = 1\n```\n\n:tada: $a$\n")
    service = '[service]\nurl = "https://gitlab.example.com"\n'
    settings = f"{service}[markup]\nhighlight = false\nemoji = false\n"
    (wiki / "wikisync.toml").write_text(settings)
    ran = await render("sub/code.md")
    assert ran.code == 0
    assert ("highlight" in ran.out, ":tada:" in ran.out) == (False, True)
    given = ("--markup", "highlight=true", "--markup", "math=source")
    ran = await render("sub/code.md", *given)
    assert ran.code == 0
    assert 'class="code highlight"' in ran.out
    assert ("<math" in ran.out, ":tada:" in ran.out) == (False, True)


async def test_engine_that_is_asked_for_is_used(render: Run, wiki: Path) -> None:
    (wiki / "a.adoc").write_text("= T\n\n_x_\n")
    ran = await render("a.adoc", "--markup", "asciidoc_engine=quickjs")
    assert (ran.code, "<em>x</em>" in ran.out) == (0, True)


async def test_page_over_its_deadline_does_not_hold_the_command(
    render: Run, wiki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = BoundedParser(seconds_max=0.0)
    monkeypatch.setattr("wikisync.workspace.page_files.bounded_parser", lambda: parser)
    (wiki / "slow.md").write_text("*a* [b](c) " * 50_000)
    ran = await render("slow.md")
    parser.close()
    ran.ended(1, "takes longer than 0 seconds")


def test_include_cannot_leave_the_folder(wiki: Path) -> None:
    outside = wiki.parent / "secret.txt"
    outside.write_text("secret")
    (wiki / "link.txt").symlink_to(outside)
    (wiki / "sub" / "own.txt").write_text("own")
    include = include_from(wiki, "sub/page.rdoc")
    assert include("own.txt") == "own"
    refused = ["../../secret.txt", "../link.txt", "/etc/passwd", str(outside), "none"]
    assert [include(target) for target in refused] == [None] * len(refused)


async def test_a_folder_gives_no_file_that_is_not_in_it(
    render: Run, wiki: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nor does a pipe hold the command, or a link to itself end it."""
    secret = tmp_path_factory.mktemp("outside") / "secret.md"
    secret.write_text("secret words")
    (wiki / "out.md").symlink_to(secret)
    (wiki / "own.md").symlink_to(wiki / "sub" / "page.rdoc")
    (wiki / "loop.md").symlink_to("loop.md")
    os.mkfifo(wiki / "pipe.md")
    async with asyncio.timeout(60):
        ran = await render(".")
    assert ran.code == 1
    assert "secret" not in ran.out
    assert ran.out.count("text") == 2
    assert "out.md is a link to outside its folder" in ran.err
    assert "cannot use pipe.md: it is not a regular file" in ran.err
    assert "loop.md is a symbolic link" in ran.err
    # the folder is named where it is another one
    (wiki / "sub" / "out.md").symlink_to(secret)
    (wiki / "sub" / "big.md").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    outside = (await render("sub")).err
    assert "sub: out.md is a link to outside its folder" in outside
    assert "sub: big.md is larger than" in outside
    # a person who names the link means the file
    assert "secret words" in (await render("out.md")).out


async def test_folder_that_cannot_be_read_is_an_error(render: Run, wiki: Path) -> None:
    unread = unreadable_folder(wiki)
    ran = await render(".")
    ran.ended(1, f"cannot read ./{unread}: the name is too long")
    assert "<h1" in ran.out
    # its neighbours are none of this page's business
    assert (await render("home.md")).code == 0
