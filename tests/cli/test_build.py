"""``wikisync build``: a folder becomes a site, with no service."""

from pathlib import Path

import pytest

from tests.cli.exports import NAMED, put_handbook
from tests.support.agreed import write_config
from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import Cloned
from wikisync.errors import ExitCode

CONFIG = """\
[service]
url = "https://gitlab.example.com"
[[wiki]]
project = "docs/handbook"
folder = "handbook"
[site]
output = "public"
"""
OTHER = '[[wiki]]\nproject = "docs/other"\nfolder = "other"\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "books"
    (folder / "handbook").mkdir(parents=True)
    (folder / "handbook" / "home.md").write_text("# Welcome home\n")
    (folder / "wikisync.toml").write_text(CONFIG)
    return folder


@pytest.fixture
def build(run_alone: Run, workspace: Path) -> Run:
    async def call(*words: str | Path) -> Ran:
        return await run_alone("build", workspace, *words)

    return call


def set_site(workspace: Path, lines: str) -> None:
    write_config(workspace, CONFIG + lines)


def page(workspace: Path, name: str = "index.html") -> str:
    return (workspace / "public" / name).read_text()


async def test_a_workspace_is_built_where_it_says(build: Run, workspace: Path) -> None:
    ran = await build()
    assert ran.code == ExitCode.DONE
    assert "Welcome home" in page(workspace)
    assert ran.out.startswith("1 page: ")
    assert ran.out.endswith(f"{workspace / 'public' / 'index.html'}\n")
    # it is hidden from search engines unless it is public
    assert "Disallow: /\n" in page(workspace, "robots.txt")
    set_site(workspace, "public = true\n")
    await build()
    assert "Disallow: /\n" not in page(workspace, "robots.txt")


async def test_folder_of_a_program_is_a_note(build: Run, workspace: Path) -> None:
    folder = workspace / "handbook"
    (folder / "node_modules").mkdir()
    for _ in range(2):  # the second one has nothing to do
        ran = await build("--strict")
        ran.ended(ExitCode.DONE, "node_modules: a package manager makes this folder")
        assert "/node_modules/ leaves it out silently" in ran.err
        assert "0 problems" in ran.out
    notes = (await build("--strict", "--json")).json["notes"]
    assert [one["subject"] for one in notes] == ["node_modules"]
    (folder / ".wikisyncignore").write_text("node_modules/\n")
    ran = await build("--strict")
    assert (ran.code, "node_modules" in ran.err) == (ExitCode.DONE, False)


async def test_theme_is_tried_on_any_folder(
    run_alone: Run, workspace: Path, tmp_path: Path
) -> None:
    output, theme, ours = tmp_path / "out", tmp_path / "ours", tmp_path / "templates"
    assert (await run_alone("theme", "new", theme)).code == ExitCode.DONE
    (ours / "i18n").mkdir(parents=True)
    (ours / "i18n/en.toml").write_text('all_pages = "Everything"\n')
    ran = await run_alone(
        *("build", workspace / "handbook", "-o", output, "--templates", ours),
        *("--theme", theme, "--theme-option", "banner=Closed on Monday"),
    )
    assert ran.code == ExitCode.DONE
    text = (output / "index.html").read_text()
    assert "Closed on Monday" in text
    assert "Everything" in text


async def test_theme_of_the_command_line_is_in_front_of_the_configuration(
    build: Run, run_alone: Run, workspace: Path, tmp_path: Path
) -> None:
    await run_alone("theme", "new", tmp_path / "ours")
    set_site(workspace, '[site.options]\nfooter_html = "ours alone"\n')
    assert (await build("--theme-option", "footer_html=typed")).code == ExitCode.DONE
    assert "typed" in page(workspace)
    assert (await build("--theme", tmp_path / "ours")).code == ExitCode.DONE
    assert "ours alone" not in page(workspace)


async def test_a_folder_needs_an_output(run_alone: Run, tmp_path: Path) -> None:
    ran = await run_alone("build", tmp_path)
    ran.ended(ExitCode.USAGE, "give a folder with -o, or set [site] output")


@pytest.mark.parametrize("output", ["site", "tmp/site", "cache/site"])
async def test_a_site_is_not_put_where_wikisync_tidies(
    build: Run, workspace: Path, output: str
) -> None:
    place = workspace / ".wikisync" / output
    (await build("-o", place)).ended(ExitCode.USAGE, "choose another folder with -o")
    assert not (place / "index.html").exists()


@pytest.mark.parametrize("option", ["-o", "--single"])
async def test_an_output_that_is_a_link_to_itself_is_named(
    build: Run, workspace: Path, option: str
) -> None:
    loop = workspace.with_name("loop")
    loop.symlink_to(loop)
    ran = await build(option, loop)
    assert ran.code == ExitCode.USAGE
    assert f"error: {loop} is a symbolic link that leads to itself" in ran.err


async def test_strict_fails_at_broken_links(build: Run, workspace: Path) -> None:
    (workspace / "handbook" / "home.md").write_text("# Hi\n\n[gone](gone)\n")
    (await build()).ended(ExitCode.DONE, "broken link: docs/handbook: home:3: gone")
    assert (await build("--strict")).code == ExitCode.FAILED


async def test_publishing_switches_and_runs_what_follows(
    build: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command gets no token."""
    monkeypatch.setenv("STORAGE_KEY", "its own")
    known = "$WIKISYNC_SITE $WIKISYNC_TOKEN $STORAGE_KEY"
    set_site(workspace, f"""after = ["sh", "-c", "echo {known} >> sent"]\n""")
    told = (await build("--publish", "--json")).json
    assert (told["pages"], told["switched"], told["problems"]) == (1, True, [])
    assert (await build("--publish")).code == ExitCode.DONE
    sent = (workspace / "sent").read_text()
    assert sent == f"{workspace / 'public'} its own\n"
    (workspace / "handbook" / "home.md").write_text("# Changed\n")
    assert (await build("--publish")).code == ExitCode.DONE
    assert (workspace / "sent").read_text() == 2 * sent
    assert len(list((workspace / ".public.versions").glob("0*"))) == 1


async def test_site_outlives_a_failed_command(build: Run, workspace: Path) -> None:
    set_site(workspace, 'after = "false"\n')
    (await build("--publish")).ended(ExitCode.HELD, "ended with exit code 1")
    assert "Welcome home" in page(workspace)


# -- what the site holds already -----------------------------------------------------


@pytest.fixture
async def two_wikis(build: Run, workspace: Path) -> Path:
    """A built workspace of two wikis; the page of the second one in the site."""
    (workspace / "other").mkdir()
    (workspace / "other" / "home.md").write_text("# Other\n")
    (workspace / "wikisync.toml").write_text(CONFIG + OTHER)
    assert (await build()).code == ExitCode.DONE
    return workspace / "public" / "docs/other/-/wikis/index.html"


@pytest.mark.parametrize("how", [[], ["--publish"]])
async def test_wiki_that_the_workspace_no_longer_names_leaves_the_site_only_when_asked(
    build: Run, workspace: Path, two_wikis: Path, how: list[str]
) -> None:
    (workspace / "wikisync.toml").write_text(CONFIG)
    ran = await build(*how)
    assert (ran.code, two_wikis.exists()) == (ExitCode.USAGE, True)
    told = "would remove the wiki of project docs/other (1 page) from the site"
    assert told in ran.err
    assert "--replace" in ran.err
    assert (await build(*how, "--replace")).code == ExitCode.DONE
    assert not two_wikis.exists()


async def test_site_of_another_folder_stays(run_alone: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "home.md").write_text(f"# {name}\n")
    output = ("-o", tmp_path / "o")
    assert (await run_alone("build", tmp_path / "one", *output)).code == ExitCode.DONE
    ran = await run_alone("build", tmp_path / "two", *output)
    ran.ended(ExitCode.USAGE, "project local/one (1 page)")
    assert "one" in (tmp_path / "o" / "index.html").read_text()
    ran = await run_alone("build", tmp_path / "two", *output, "--replace")
    assert ran.code == ExitCode.DONE


async def test_folder_that_became_empty_does_not_empty_its_part_of_the_site(
    build: Run, workspace: Path, two_wikis: Path
) -> None:
    """As when its disk is away."""
    (workspace / "other" / "home.md").unlink()
    ran = await build()
    assert (ran.code, two_wikis.exists()) == (ExitCode.USAGE, True)
    assert "project docs/other (1 page)" in ran.err


@pytest.mark.parametrize(
    ("key", "options", "name", "is_there"),
    [
        ("page_templates = true\n", [], "templates/meeting.html", True),
        ("", ["--page-templates"], "templates/meeting.html", True),
        ("report = false\n", [], "-/report.html", False),
        ("", ["--no-report"], "-/report.html", False),
    ],
)
async def test_templates_for_pages_and_the_report_are_there_as_the_site_says(
    build: Run, workspace: Path, key: str, options: list[str], name: str, is_there: bool
) -> None:
    template = workspace / "handbook/templates/meeting.md"
    template.parent.mkdir()
    template.write_text("x")
    set_site(workspace, key)
    assert (await build(*options)).code == ExitCode.DONE
    assert (workspace / "public" / name).exists() is is_there
    set_site(workspace, "")
    assert (await build()).code == ExitCode.DONE
    assert (workspace / "public" / name).exists() is not is_there


async def test_site_says_when_a_sync_saw_a_change(cloned: Cloned) -> None:
    """What was there at the clone is older than anybody here knows."""
    site = cloned.root / "site"
    await cloned.run_main("build", cloned.root)
    assert "<time" not in (site / "index.html").read_text()
    await cloned.edit({"guide": "other\n", "new": "new\n"})
    await cloned.run("sync")
    await cloned.run_main("build", cloned.root)
    text = (site / "guide.html").read_text()
    assert ("Change seen on" in text, "Last changed" in text) == (True, False)
    assert "<time" not in (site / "index.html").read_text()
    assert (site / "-/changes.html").read_text().count("<time") == 2


# -- all pages in one file ---------------------------------------------------------


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    (folder / "guide").mkdir(parents=True)
    (folder / "home.md").write_text("# Welcome\n")
    (folder / "guide/start.md").write_text("# Start\n")
    return folder


async def test_a_folder_becomes_files_and_no_site(
    run_alone: Run, pages: Path, tmp_path: Path
) -> None:
    book, single = tmp_path / "book.epub", tmp_path / "book.html"
    ran = await run_alone("build", pages, "--epub", book, "--single", single)
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("2 pages: 2 files written")
    assert ran.out.splitlines()[1:] == [str(single), str(book)]
    assert {one for one in tmp_path.iterdir() if one.is_file()} == {book, single}


async def test_a_site_and_a_file_are_made_at_once(
    run_alone: Run, pages: Path, tmp_path: Path
) -> None:
    site, single = tmp_path / "site", tmp_path / "start.html"
    words = ("build", pages, "-o", site, "--single", single, "--only", "guide")
    told = (await run_alone(*words, "--json")).json
    assert (told["index"], told["books"]) == (str(site / "index.html"), [str(single)])
    assert (site / "index.html").exists()
    assert "Welcome" not in single.read_text()


async def test_an_export_becomes_a_file_without_a_site(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await put_handbook(service)
    single = tmp_path / "handbook.html"
    ran = await run("export", service.url, *NAMED, "--single", single)
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == str(single)
    assert "some words" in single.read_text()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("build {pages} --only guide", 2, "is for --single, --pdf and --epub"),
        ("build {pages} --pdf-engine chromium", 2, "is for --single, --pdf and --epub"),
        ("build {pages} --single {pages}/all.html", 1, "inside the folder of the wiki"),
        ("export http://127.0.0.1:9 --all", 2, "name a folder with -o"),
        (
            "export http://127.0.0.1:9 --all --epub {pages}/none/book.epub",
            *(2, "there is no folder {pages}/none"),
        ),
    ],
)
async def test_file_that_cannot_be_made_is_refused_before_a_service_is_asked(
    run_alone: Run, pages: Path, words: str, code: int, told: str
) -> None:
    ran = await run_alone(*words.format(pages=pages).split())
    ran.ended(code, told.format(pages=pages))
