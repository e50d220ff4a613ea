"""``wikisync check``: what is wrong with a folder's pages, without a site."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.faulty_server import faulty_server
from wikisync.errors import ExitCode

CONFIG = '[service]\nurl = "https://gitlab.example.com"\n'
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}
"""Those of a Code Quality report."""
BROKEN = "[home](home)\n\n[lost](lost) and ![none](uploads/none/none.png)\n"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "home.md").write_text("# Welcome\n\n[more](more)\n")
    (folder / "more.md").write_text("[home](home)\n")
    return folder


@pytest.fixture
def check(run_alone: Run, pages: Path) -> Run:
    async def call(*words: str | Path) -> Ran:
        return await run_alone("check", pages, *words)

    return call


@pytest.fixture
def wiki(pages: Path) -> Path:
    """A wiki in a workspace, with pages at its top and below."""
    folder = pages / "wiki"
    (folder / "team").mkdir(parents=True)
    wiki = '[[wiki]]\nproject = "a/wiki"\nfolder = "wiki"\n'
    (pages / "wikisync.toml").write_text(f"{CONFIG}{wiki}")
    for path in ("home.md", "team.md", "team/one.md"):
        (folder / path).write_text("[home](home) [lost](lost)\n")
    return folder


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ((), ""),
        (("--findings", "code-quality"), "[]\n"),
        (("--findings", "github"), "\n"),
    ],
)
async def test_sound_pages_are_done_in_silence(
    check: Run, pages: Path, words: tuple[str, ...], out: str
) -> None:
    before = sorted(pages.rglob("*"))
    ran = await check(*words)
    assert (ran.code, ran.out) == (ExitCode.DONE, out)
    assert words or ran.err.startswith("2 pages: 0 broken links, 0 problems")
    assert sorted(pages.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("team", ["team.md:1", "team/one.md:1"]),
        ("team/one.md", ["team/one.md:1"]),
        ("", ["home.md:1", "team.md:1", "team/one.md:1"]),
    ],
)
async def test_a_folder_or_file_of_a_wiki_is_checked_with_links_to_all_of_it(
    run_alone: Run, wiki: Path, name: str, found: list[str]
) -> None:
    ran = await run_alone("check", wiki / name, "--json")
    links = [
        f"{Path(one['file']).relative_to(wiki)}:{one['line']}"
        for one in ran.json["broken_links"]
    ]
    assert (ran.code, sorted(links)) == (ExitCode.HELD, found)
    assert ran.json["pages"] == len(found)


async def test_problem_of_a_page_beside_is_not_told(run_alone: Run, wiki: Path) -> None:
    for path in ("home.md", "team/one.md"):
        (wiki / path).write_text("---\ntitle: [a\n---\n<!-- [more](/more)\n")
    ran = await run_alone("check", wiki / "team", "--json")
    subjects = sorted(one["subject"] for one in ran.json["problems"])
    assert subjects == [f"{wiki}/team/one.md:2", "team/one:4"]


async def test_wiki_whose_folder_is_a_link_is_checked_with_its_workspace(
    run_alone: Run, pages: Path, wiki: Path
) -> None:
    wiki.rename(pages.parent / "elsewhere")
    wiki.symlink_to(pages.parent / "elsewhere")
    (await run_alone("check", pages)).ended(ExitCode.HELD, "3 pages: 3 broken links")


async def test_folder_of_a_program_is_a_note(check: Run, pages: Path) -> None:
    (pages / "@eaDir").mkdir()
    ran = await check()
    assert (ran.code, ran.out) == (ExitCode.DONE, "")
    assert "@eaDir: a Synology NAS makes this folder; no page in it" in ran.err
    ran = await check("--json")
    assert (ran.code, ran.problem_codes) == (ExitCode.DONE, [])
    assert [one["code"] for one in ran.json["notes"]] == ["folder-left-out"]
    (pages / ".wikisyncignore").write_text("@eaDir/\n")
    ran = await check()
    assert (ran.code, "@eaDir" in ran.err) == (ExitCode.DONE, False)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"---\ntitle: [a\n---\n[home](home)\n", "/more.md:2: invalid front matter"),
        (b"[home](home) \xff", "more: is not UTF-8 (byte 13)"),
    ],
)
async def test_page_that_cannot_be_read_is_a_problem(
    check: Run, pages: Path, content: bytes, told: str
) -> None:
    (pages / "more.md").write_bytes(content)
    ran = await check()
    assert (ran.code, told in ran.out) == (ExitCode.HELD, True), ran.out


async def test_broken_link_is_told_with_file_and_line(
    check: Run, run_alone: Run, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing picture as a file, for which no page is wanted."""
    (pages / "more.md").write_text("[home](home)\n\n[lost](lost) ![x](pic.png)\n")
    told = [
        "pages/more.md:3: broken link lost (there is no such page)",
        "pages/more.md:3: broken link pic.png (there is no such file)",
    ]
    ran = await check()
    lines = [f"{pages.parent}/{line}" for line in told]
    assert (ran.code, sorted(ran.out.splitlines())) == (ExitCode.HELD, lines)
    wanted = (await check("--json")).json["wanted_pages"]
    assert [one["slug"] for one in wanted] == ["lost"]
    monkeypatch.chdir(pages.parent)
    assert sorted((await run_alone("check", "pages")).out.splitlines()) == told


async def test_json_tells_all_of_it(check: Run, pages: Path) -> None:
    """A page that nobody links to is no fault, and listed on demand."""
    (pages / "alone.md").write_text("nobody comes here\n")
    ran = await check("--orphans")
    assert (ran.code, "no page links to alone" in ran.out) == (ExitCode.DONE, True)
    (pages / "more.md").write_text(BROKEN)
    ran = await check("--json")
    found = ran.json
    assert (ran.code, found["pages"]) == (ExitCode.HELD, 3)
    assert found["broken_links"][0]["file"] == str(pages / "more.md")
    wanted = {"wiki": "local/pages", "slug": "lost", "count": 1}
    assert found["wanted_pages"] == [wanted]
    assert found["orphans"] == [{"wiki": "local/pages", "slug": "alone"}]


async def test_link_to_a_file_beside_the_page_is_sound(check: Run, pages: Path) -> None:
    (pages / "more.md").write_text("![a](pics/red.png) [x](data.csv)\n")
    (pages / "pics").mkdir()
    (pages / "pics" / "red.png").write_text("red")
    (pages / "data.csv").write_text("1;2")
    assert (await check()).code == ExitCode.DONE
    (pages / "data.csv").unlink()
    ran = await check()
    assert ran.code == ExitCode.HELD
    assert "broken link data.csv" in ran.out


async def test_workspace_is_checked_across_its_wikis(
    run_alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wikis = '[[wiki]]\nproject = "docs/one"\n[[wiki]]\nproject = "docs/two"\n'
    (tmp_path / "wikisync.toml").write_text(f"{CONFIG}{wikis}")
    for name, text in (("one", "x\n"), ("two", "[x](x)\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "home.md").write_text(text)
    monkeypatch.chdir(tmp_path)
    ran = await run_alone("check")
    assert ran.code == ExitCode.HELD
    assert ran.out.startswith("two/home.md:1: broken link x")
    assert (await run_alone("check", "one")).code == ExitCode.DONE


async def test_check_finds_what_a_build_finds(run_alone: Run, tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "sample-site" / "handbook"
    checked = (await run_alone("check", guide, "--json")).json
    built = (await run_alone("build", guide, "-o", tmp_path / "site", "--json")).json
    for link in checked["broken_links"]:
        del link["file"]
    same = ("broken_links", "problems", "pages")
    assert [checked[part] for part in same] == [built[part] for part in same]


ODD_NAME = "a, 50%: b.md"
Found = Callable[[str], Awaitable[str]]


@pytest.fixture
def found(run_alone: Run, pages: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    """What is printed in a format about two equal broken links of an odd file."""
    (pages / ODD_NAME).write_text("[lost](lost)\n\n[lost](lost)\n")
    monkeypatch.chdir(pages.parent)

    async def call(style: str) -> str:
        ran = await run_alone("check", "pages", "--findings", style)
        assert ran.code == ExitCode.HELD
        return ran.out

    return call


async def test_findings_keep_names_when_lines_move(found: Found, pages: Path) -> None:
    first = json.loads(await found("code-quality"))
    assert [one["location"] for one in first] == [
        {"path": f"pages/{ODD_NAME}", "lines": {"begin": 1}},
        {"path": f"pages/{ODD_NAME}", "lines": {"begin": 3}},
    ]
    assert first[0]["description"] == "broken link lost (there is no such page)"
    assert {one["severity"] for one in first} <= SEVERITIES
    names = [one["fingerprint"] for one in first]
    assert len(set(names)) == 2
    (pages / ODD_NAME).write_text("more\n\n[lost](lost)\n\n[lost](lost)\n")
    moved = json.loads(await found("code-quality"))
    assert [one["fingerprint"] for one in moved] == names
    assert moved[1]["location"]["lines"]["begin"] == 5


async def test_findings_as_sarif_name_file_line_and_rule(found: Found) -> None:
    (run,) = json.loads(await found("sarif"))["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "broken-link"}]
    (place,) = run["results"][1]["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "pages/a%2C%2050%25%3A%20b.md"},
        "region": {"startLine": 3},
    }


async def test_findings_for_github_are_one_command_a_line(found: Found) -> None:
    first, second = (await found("github")).splitlines()
    assert first == (
        "::error file=pages/a%2C 50%25%3A b.md,line=1,title=broken-link"
        "::broken link lost (there is no such page)"
    )
    assert ",line=3," in second


async def test_external_links_are_found_with_line(check: Run, pages: Path) -> None:
    async with faulty_server() as server:
        (pages / "more.md").write_text(
            f"[home](home)\n\n[a]({server.url}/404/a?x=1&y=2)\n![b]({server.url}/403/b)\n"
            f"\n[c]({server.url}/ok) {server.url}/500/d\n"
        )
        ran = await check("--external", "--json")
        silent = await check()

    assert (ran.code, silent.code) == (ExitCode.HELD, ExitCode.DONE)
    links = [
        (one["href"].removeprefix(server.url), one["reason"], one["line"])
        for one in ran.json["broken_links"]
    ]
    assert links == [("/404/a?x=1&y=2", "status-404", 3), ("/500/d", "status-500", 6)]


async def test_configuration_ignores_external_links(check: Run, pages: Path) -> None:
    async with faulty_server() as server:
        (pages / "more.md").write_text(f"[home](home) <{server.url}/404/a>\n")
        (pages.parent / "wikisync.toml").write_text(
            f'{CONFIG}[[wiki]]\nproject = "docs/pages"\n'
            f'[check]\nignore = ["{server.url}/404/*"]\n'
        )
        ran = await check("--external")

    assert (ran.code, ran.out) == (ExitCode.DONE, "")
    assert not server.asked
