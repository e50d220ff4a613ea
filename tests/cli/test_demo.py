"""``wikisync demo``: the user guide from the service to a website."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Run
from wikisync.cli.demo import guide_folder
from wikisync.cli.main import main


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("demo") / "site"
    assert main(["demo", "--output", str(output)]) == 0
    return output


def test_both_wikis_of_the_guide_are_in_the_site(site: Path) -> None:
    assert (site / "docs/-/wikis/house-rules.html").is_file()
    assert (site / "docs/handbook/-/wikis/formats/org.html").is_file()
    # and no page leads to the service that is gone
    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    assert not [page for page in pages if 'href="http://127.0.0.1' in page]


def test_the_only_broken_link_is_the_one_on_purpose(site: Path) -> None:
    """The guide is a test input: a second broken link is a mistake in it."""
    report = json.loads((site / "-/report.json").read_text(encoding="utf-8"))
    links = [(link["slug"], link["href"]) for link in report["broken_links"]]
    assert links == [("export/broken-links", "a-page-that-nobody-wrote")]
    assert report["problems"] == []


def test_the_guide_has_pages_of_all_four_formats() -> None:
    pages = [path for path in guide_folder().rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in pages}
    assert {".md", ".rdoc", ".asciidoc", ".org"} <= suffixes
    assert len(pages) > 24


async def test_running_the_demo_again_updates_the_same_site(
    run_alone: Run, site: Path
) -> None:
    """And says why a link is broken, which reads like a failure otherwise."""
    before = sorted(site.rglob("*"))
    ran = await run_alone("demo", "--output", site)
    assert ran.code == 0
    assert "0 removed" in ran.out
    assert sorted(site.rglob("*")) == before
    assert "the broken link is on purpose" in ran.err
    assert ran.err.endswith("open in a browser:\n")
    page = Path(ran.out.splitlines()[-1].removeprefix("file://"))
    assert page == site / "docs/handbook/-/wikis/index.html"
    assert "<h1" in page.read_text(encoding="utf-8")


async def test_a_folder_with_other_files_is_refused(
    run_alone: Run, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("all my work")
    (await run_alone("demo", "--output", tmp_path)).ended(1, "hint")
    assert (tmp_path / "thesis.txt").read_text() == "all my work"
