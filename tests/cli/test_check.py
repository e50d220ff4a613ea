"""``wikisync check``: what is wrong with a folder's pages, without a site."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faulty_server import faulty_server
from wikisync.cli.main import main
from wikisync.errors import ExitCode

SEVERITIES = {"info", "minor", "major", "critical", "blocker"}
"""Those of a Code Quality report."""
BROKEN = "[home](home)\n\n[lost](lost) and ![none](uploads/none/none.png)\n"


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "home.md").write_text("# Welcome\n\n[more](more)\n")
    (folder / "more.md").write_text("[home](home)\n")
    return folder


def test_sound_pages_are_done_in_silence(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(pages)]) == ExitCode.DONE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("2 pages: 0 broken links, 0 problems")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("team", ["team.md:1", "team/one.md:1"]),
        ("team/one.md", ["team/one.md:1"]),
        ("", ["home.md:1", "team.md:1", "team/one.md:1"]),
    ],
)
def test_a_folder_or_file_of_a_wiki_is_checked_with_links_to_all_of_it(
    pages: Path, capsys: pytest.CaptureFixture[str], name: str, found: list[str]
) -> None:
    (pages / "wiki/team").mkdir(parents=True)
    (pages / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "a/wiki"\nfolder = "wiki"\n'
    )
    for path in ("home.md", "team.md", "team/one.md"):
        (pages / "wiki" / path).write_text("[home](home) [lost](lost)\n")
    assert main(["check", str(pages / "wiki" / name), "--json"]) == ExitCode.HELD
    said = json.loads(capsys.readouterr().out)
    links = said["broken_links"]
    assert (
        sorted(
            f"{Path(one['file']).relative_to(pages / 'wiki')}:{one['line']}"
            for one in links
        )
        == found
    )
    assert said["pages"] == len(found)


def test_a_problem_of_a_line_is_told_of_a_checked_page_alone(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "wiki/team").mkdir(parents=True)
    for path in ("more.md", "team/one.md"):
        wrong = "---\ntitle: [a\n---\n<!-- [more](/more)\n"
        (pages / "wiki" / path).write_text(wrong)
    (pages / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "a/wiki"\nfolder = "wiki"\n'
    )
    main(["check", str(pages / "wiki/team"), "--json"])
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert sorted(one["subject"] for one in problems) == [
        f"{pages}/wiki/team/one.md:2",
        "team/one:4",
    ]


def test_wiki_whose_folder_is_a_link_is_checked_with_its_workspace(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "more.md").write_text("[home](home) [lost](lost)\n")
    workspace = pages.with_name("workspace")
    workspace.mkdir()
    (workspace / "wiki").symlink_to(pages)
    (workspace / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "a/wiki"\nfolder = "wiki"\n'
    )
    assert main(["check", str(workspace)]) == ExitCode.HELD
    assert "2 pages: 1 broken link" in capsys.readouterr().err


def test_folder_of_a_program_is_a_note_unless_it_is_ignored(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "@eaDir").mkdir()
    assert main(["check", str(pages)]) == ExitCode.DONE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "@eaDir: a Synology NAS makes this folder; no page in it" in captured.err
    assert main(["check", "--json", str(pages)]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == []
    assert [one["code"] for one in found["notes"]] == ["folder-left-out"]
    (pages / ".wikisyncignore").write_text("@eaDir/\n")
    assert main(["check", str(pages)]) == ExitCode.DONE
    assert "@eaDir" not in capsys.readouterr().err


def test_front_matter_that_is_wrong_is_a_problem_of_its_line(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "more.md").write_text("---\ntitle: [a\n---\n[home](home)\n")
    assert main(["check", str(pages)]) == ExitCode.HELD
    assert f"{pages}/more.md:2: invalid front matter" in capsys.readouterr().out


def test_broken_link_is_told_with_file_and_line(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (pages / "more.md").write_text(BROKEN)
    monkeypatch.chdir(pages.parent)
    assert main(["check", "pages"]) == ExitCode.HELD
    lines = capsys.readouterr().out.splitlines()
    assert "pages/more.md:3: broken link lost (there is no such page)" in lines
    assert len(lines) == 2


def test_missing_picture_is_told_as_a_file_and_no_page_is_wanted_for_it(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (pages / "more.md").write_text("[home](home) ![x](pic.png)\n")
    monkeypatch.chdir(pages.parent)
    assert main(["check", "pages"]) == ExitCode.HELD
    told = "pages/more.md:1: broken link pic.png (there is no such file)"
    assert told in capsys.readouterr().out.splitlines()
    main(["check", "pages", "--json"])
    assert json.loads(capsys.readouterr().out)["wanted_pages"] == []


def test_nothing_is_written_into_the_folder(pages: Path) -> None:
    before = sorted(pages.rglob("*"))
    main(["check", str(pages)])
    assert sorted(pages.rglob("*")) == before


def test_json_tells_all_of_it(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pages / "more.md").write_text(BROKEN)
    (pages / "alone.md").write_text("nobody comes here\n")
    assert main(["check", str(pages), "--json"]) == ExitCode.HELD
    found = json.loads(capsys.readouterr().out)
    assert found["pages"] == 3
    assert found["broken_links"][0]["file"] == str(pages / "more.md")
    assert found["wanted_pages"] == [
        {"wiki": "local/pages", "slug": "lost", "count": 1}
    ]
    assert found["orphans"] == [{"wiki": "local/pages", "slug": "alone"}]


def test_page_that_nobody_links_to_is_no_fault_but_listed_on_demand(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "alone.md").write_text("nobody comes here\n")
    assert main(["check", str(pages), "--orphans"]) == ExitCode.DONE
    assert "no page links to alone" in capsys.readouterr().out


def test_page_that_cannot_be_read_is_a_problem(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "home.md").write_bytes(b"\xff\xfe not utf-8 \xff")
    assert main(["check", str(pages), "--json"]) == ExitCode.HELD
    assert json.loads(capsys.readouterr().out)["problems"]


def test_link_to_a_file_beside_the_page_is_sound_while_it_is_there(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pages / "more.md").write_text("![a](pics/red.png) [x](data.csv)\n")
    (pages / "pics").mkdir()
    (pages / "pics" / "red.png").write_text("red")
    (pages / "data.csv").write_text("1;2")
    assert main(["check", str(pages)]) == ExitCode.DONE
    (pages / "data.csv").unlink()
    assert main(["check", str(pages)]) == ExitCode.HELD
    assert "broken link data.csv" in capsys.readouterr().out


def test_workspace_is_checked_across_its_wikis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "books"
    for name in ("one", "two"):
        (root / name).mkdir(parents=True)
        (root / name / "home.md").write_text("[x](x)\n" if name == "two" else "x\n")
    (root / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "docs/one"\n[[wiki]]\nproject = "docs/two"\n'
    )
    monkeypatch.chdir(root)
    assert main(["check"]) == ExitCode.HELD
    assert capsys.readouterr().out.startswith("two/home.md:1: broken link x")
    assert main(["check", "one"]) == ExitCode.DONE


def test_folder_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path / "none")]) == ExitCode.USAGE
    assert "there is no folder" in capsys.readouterr().err


def test_check_finds_what_a_build_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    guide = Path(__file__).parents[2] / "sample-site" / "handbook"
    main(["check", str(guide), "--json"])
    checked = json.loads(capsys.readouterr().out)
    main(["build", str(guide), "-o", str(tmp_path / "site"), "--json"])
    built = json.loads(capsys.readouterr().out)
    for link in checked["broken_links"]:
        del link["file"]
    assert checked["broken_links"] == built["broken_links"]
    assert checked["problems"] == built["problems"]
    assert checked["pages"] == built["pages"]


ODD_NAME = "a, 50%: b.md"


@pytest.fixture
def found(
    pages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """What is printed in a format about two equal broken links of an odd file."""
    (pages / ODD_NAME).write_text("[lost](lost)\n\n[lost](lost)\n")
    monkeypatch.chdir(pages.parent)

    def run(style: str) -> str:
        assert main(["check", "pages", "--findings", style]) == ExitCode.HELD
        return capsys.readouterr().out

    return run


def test_findings_for_code_quality_keep_their_names_when_lines_move(
    found: Callable[[str], str], pages: Path
) -> None:
    first = json.loads(found("code-quality"))
    assert [one["location"] for one in first] == [
        {"path": f"pages/{ODD_NAME}", "lines": {"begin": 1}},
        {"path": f"pages/{ODD_NAME}", "lines": {"begin": 3}},
    ]
    assert first[0]["description"] == "broken link lost (there is no such page)"
    assert {one["severity"] for one in first} <= SEVERITIES
    names = [one["fingerprint"] for one in first]
    assert len(set(names)) == 2
    (pages / ODD_NAME).write_text("more\n\n[lost](lost)\n\n[lost](lost)\n")
    moved = json.loads(found("code-quality"))
    assert [one["fingerprint"] for one in moved] == names
    assert moved[1]["location"]["lines"]["begin"] == 5


def test_findings_as_sarif_name_file_line_and_rule(found: Callable[[str], str]) -> None:
    (run,) = json.loads(found("sarif"))["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "broken-link"}]
    (place,) = run["results"][1]["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "pages/a%2C%2050%25%3A%20b.md"},
        "region": {"startLine": 3},
    }


def test_findings_for_github_are_one_command_a_line(
    found: Callable[[str], str],
) -> None:
    first, second = found("github").splitlines()
    assert first == (
        "::error file=pages/a%2C 50%25%3A b.md,line=1,title=broken-link"
        "::broken link lost (there is no such page)"
    )
    assert ",line=3," in second


@pytest.mark.parametrize(
    ("style", "text"), [("code-quality", "[]\n"), ("github", "\n")]
)
def test_sound_pages_have_no_findings(
    pages: Path, capsys: pytest.CaptureFixture[str], style: str, text: str
) -> None:
    assert main(["check", str(pages), "--findings", style]) == ExitCode.DONE
    assert capsys.readouterr().out == text


async def test_external_links_are_found_with_file_and_line(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with faulty_server() as server:
        (pages / "more.md").write_text(
            f"[home](home)\n\n[a]({server.url}/404/a?x=1&y=2)\n![b]({server.url}/403/b)\n"
            f"\n[c]({server.url}/ok) {server.url}/500/d\n"
        )
        code = await asyncio.to_thread(
            main, ["check", str(pages), "--external", "--findings", "sarif"]
        )
        found = json.loads(capsys.readouterr().out)["runs"][0]["results"]
        silent = await asyncio.to_thread(main, ["check", str(pages)])

    assert (code, silent) == (ExitCode.HELD, ExitCode.DONE)
    assert [
        (
            one["message"]["text"].removeprefix(f"broken link {server.url}"),
            one["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for one in found
    ] == [("/404/a?x=1&y=2 (status-404)", 3), ("/500/d (status-500)", 6)]


async def test_configuration_ignores_external_links(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with faulty_server() as server:
        (pages / "more.md").write_text(f"[home](home) <{server.url}/404/a>\n")
        (pages.parent / "wikisync.toml").write_text(
            '[service]\nurl = "https://gitlab.example.com"\n'
            '[[wiki]]\nproject = "docs/pages"\n'
            f'[check]\nignore = ["{server.url}/404/*"]\n'
        )
        code = await asyncio.to_thread(main, ["check", str(pages), "--external"])

    assert (code, capsys.readouterr().out) == (ExitCode.DONE, "")
    assert not server.asked
