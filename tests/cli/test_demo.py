"""``wikisync demo``: the user guide from the service to a website."""

import json
from pathlib import Path

import pytest

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


def test_no_page_leads_to_the_service_that_is_gone(site: Path) -> None:
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


def test_running_the_demo_again_updates_the_same_site(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(site.rglob("*"))
    assert main(["demo", "--output", str(site)]) == 0
    assert "0 removed" in capsys.readouterr().out
    assert sorted(site.rglob("*")) == before


def test_what_to_open_is_the_guide(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(site)]) == 0
    address = capsys.readouterr().out.splitlines()[-1]
    page = Path(address.removeprefix("file://"))
    assert "<h1" in page.read_text(encoding="utf-8")
    assert page.is_relative_to(site / "docs/handbook")


def test_a_newcomer_is_told_why_a_link_is_broken_and_what_to_open(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is printed first reads like a failure otherwise."""
    assert main(["demo", "--output", str(site)]) == 0
    printed = capsys.readouterr()
    assert "the broken link is on purpose" in printed.err
    assert printed.err.endswith("open in a browser:\n")
    assert printed.out.endswith("/docs/handbook/-/wikis/index.html\n")


def test_a_folder_with_other_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("all my work")
    assert main(["demo", "--output", str(tmp_path)]) == 1
    assert (tmp_path / "thesis.txt").read_text() == "all my work"
    assert "hint" in capsys.readouterr().err
