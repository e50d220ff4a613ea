"""``wikisync render`` as it is called."""

import io
import json
import sys
from pathlib import Path

import pytest

from wikisync.cli.main import main
from wikisync.markup.bounded import BoundedParser


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


@pytest.mark.usefixtures("wiki")
def test_page_is_printed_with_its_links(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "home.md"]) == 0
    out = capsys.readouterr().out
    assert '<a href="sub/page.html">s</a>' in out
    assert '<img src="uploads/aa/p.png" alt="p"' in out


def test_folder_is_written_file_by_file(wiki: Path) -> None:
    assert main(["render", ".", "-o", "out"]) == 0
    written = sorted(p.relative_to(wiki / "out") for p in wiki.glob("out/**/*.html"))
    assert written == [Path("home.html"), Path("sub/page.html")]
    assert 'href="sub/page.html"' in (wiki / "out" / "home.html").read_text()


@pytest.mark.usefixtures("wiki")
def test_folder_as_json_is_an_array(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", ".", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [(r["file"], r["format"], r["title"]) for r in records] == [
        ("home.md", "markdown", "Hi"),
        ("sub/page.rdoc", "rdoc", "Sub"),
    ]


@pytest.mark.usefixtures("wiki")
def test_one_file_as_json_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "home.md", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["toc"] == [{"level": 1, "id": "hi", "text": "Hi"}]
    assert [link["kind"] for link in record["links"]] == ["page", "attachment"]
    assert record["problems"] == []


def test_standard_input_is_markdown_unless_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, expected in ([], "<h1"), (["-f", "rdoc"], "<p># x"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"# x\n")))
        assert main(["render", "-", *arguments]) == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("odd.xyz", b"x", "the format of odd.xyz cannot be determined from its name"),
        ("latin.md", b"caf\xe9", "latin.md is not UTF-8: byte 3 is wrong"),
    ],
)
def test_file_that_cannot_be_read_is_reported_and_the_others_go_on(
    name: str,
    content: bytes,
    message: str,
    wiki: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (wiki / name).write_bytes(content)
    assert main(["render", name, "home.md"]) == 1
    captured = capsys.readouterr()
    assert f"error: {message}" in captured.err
    assert "<h1" in captured.out


@pytest.mark.usefixtures("wiki")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gone.md"], "error: there is no file or folder gone.md"),
        (["--format", "nope"], "'nope' is not one of"),
    ],
)
def test_wrong_argument_is_told_before_anything_is_rendered(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(["render", "home.md", *words]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


def test_problems_of_a_page_are_shown_with_its_file_and_line(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "film.md").write_text("# Film\n\n<video src='a.mp4'></video>\n")
    assert main(["render", "film.md"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("warning: film.md:3: the tag <video ")
    assert "<h1" in captured.out


@pytest.mark.usefixtures("wiki")
def test_format_given_by_hand_wins_over_the_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["render", "notes.xyz", "--format", "markdown"]) == 0
    assert capsys.readouterr().out == "<p>x</p>\n"


def test_folder_without_pages_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(tmp_path)]) == 1
    assert "no page in the folder" in capsys.readouterr().err


@pytest.mark.usefixtures("wiki")
def test_output_that_cannot_be_written_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("out").mkdir()
    Path("out/home.html").mkdir()
    assert main(["render", "home.md", "-o", "out"]) == 1
    assert "cannot write out/home.html" in capsys.readouterr().err


def test_page_that_cannot_be_rendered_fails_but_is_shown(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "big.md").write_text("x" * (1024 * 1024 + 1))
    assert main(["render", "big.md"]) == 1
    captured = capsys.readouterr()
    assert "big.md: it has 1048577 bytes, more than 1048576" in captured.err
    assert "shown as source" in captured.out


def test_file_larger_than_the_limit_is_refused(
    wiki: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.workspace.page_files.FILE_BYTES_MAX", 10)
    (wiki / "big.md").write_text("x" * 11)
    assert main(["render", "big.md"]) == 1
    assert "big.md has more than 10 bytes" in capsys.readouterr().err


def test_broken_link_is_told_with_its_line(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "sub" / "odd.md").write_text("# T\n\n[ok](home) and\n[x](gone)\n")
    assert main(["render", "sub/odd.md", "--json"]) == 0
    captured = capsys.readouterr()
    assert "sub/odd.md:4: gone: there is no such page" in captured.err
    links = json.loads(captured.out)["links"]
    assert [(link["href"], link["line"]) for link in links] == [
        ("home", 3),
        ("gone", 4),
    ]


CODE = "```py\nx = 1\n```\n\n:tada: $a$\n"
SETTINGS = """\
[service]
url = "https://gitlab.example.com"
[markup]
highlight = false
emoji = false
"""


def test_settings_of_the_workspace_hold_for_its_pages(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "sub" / "code.md").write_text(CODE)
    (wiki / "wikisync.toml").write_text(SETTINGS)
    assert main(["render", "sub/code.md"]) == 0
    out = capsys.readouterr().out
    assert "highlight" not in out
    assert ":tada:" in out


def test_option_wins_over_the_settings_of_the_workspace(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "code.md").write_text(CODE)
    (wiki / "wikisync.toml").write_text(SETTINGS)
    given = ["--markup", "highlight=true", "--markup", "math=source"]
    assert main(["render", "code.md", *given]) == 0
    out = capsys.readouterr().out
    assert 'class="code highlight"' in out
    assert "<math" not in out
    assert ":tada:" in out


@pytest.mark.usefixtures("wiki")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("maths=source", 'unknown key (did you mean "math"?)'),
        ("math=latex", 'must be "mathml" or "source"'),
        ("math", "--markup math is not NAME=VALUE"),
        ("emoji=yes", "expected true or false"),
    ],
)
def test_wrong_setting_is_an_error_of_usage(
    given: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "home.md", "--markup", given]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_engine_that_is_asked_for_renders_asciidoc(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wiki / "a.adoc").write_text("= T\n\n_x_\n")
    given = ["--markup", "asciidoc_engine=quickjs"]
    assert main(["render", "a.adoc", *given]) == 0
    assert "<em>x</em>" in capsys.readouterr().out


def test_page_over_its_deadline_does_not_hold_the_command(
    wiki: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = BoundedParser(seconds_max=0.0)
    monkeypatch.setattr("wikisync.workspace.page_files.bounded_parser", lambda: parser)
    (wiki / "slow.md").write_text("*a* [b](c) " * 50_000)
    assert main(["render", "slow.md"]) == 1
    parser.close()
    assert "takes longer than 0 seconds" in capsys.readouterr().err


def test_include_cannot_leave_the_folder(wiki: Path, tmp_path: Path) -> None:
    from wikisync.workspace.page_files import include_from

    outside = tmp_path.parent / "secret.txt"
    outside.write_text("secret")
    (wiki / "link.txt").symlink_to(outside)
    (wiki / "sub" / "own.txt").write_text("own")
    include = include_from(wiki, "sub/page.rdoc")
    assert include("own.txt") == "own"
    refused = ["../../secret.txt", "../link.txt", "/etc/passwd", str(outside), "none"]
    assert [include(target) for target in refused] == [None] * len(refused)
