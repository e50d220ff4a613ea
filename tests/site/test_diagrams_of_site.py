"""The script that draws diagrams, as a file of the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.sites import Studio
from wikisync.errors import SiteError

PAGES = "-- home.md --\n```mermaid\na\n```\n-- other.md --\nx\n"


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    made = Studio(tmp_path)
    made.add(PAGES)
    return made


def scripts_of(studio: Studio) -> list[str]:
    return [name for name in studio.files() if "/mermaid." in name]


def drawers_of(studio: Studio) -> list[str]:
    return [name for name in studio.files() if "/diagrams." in name]


def test_site_without_the_script_shows_sources_and_keeps_its_policy(
    studio: Studio,
) -> None:
    studio.build()
    assert not scripts_of(studio)
    assert not drawers_of(studio)
    assert "unsafe-inline" not in studio.read("index.html")
    assert '<pre class="mermaid"' in studio.read("index.html")


def test_only_pages_with_a_diagram_load_the_script(
    studio: Studio, tmp_path: Path
) -> None:
    script = tmp_path / "mermaid.min.js"
    script.write_text("1")
    studio.set(mermaid=script)
    studio.build()
    (name,) = scripts_of(studio)
    assert len(drawers_of(studio)) == 1
    assert f'<script src="{name}" defer></script>' in studio.read("index.html")
    assert "style-src 'self' 'unsafe-inline';" in studio.read("index.html")
    for page in ("other.html", "-/report.html"):
        assert "mermaid" not in studio.read(page)
        assert "unsafe-inline" not in studio.read(page)


def test_another_script_is_another_file(studio: Studio, tmp_path: Path) -> None:
    script = tmp_path / "mermaid.min.js"
    script.write_text("1")
    studio.set(mermaid=script)
    studio.build()
    before = scripts_of(studio)
    script.write_text("2")
    studio.build()
    (after,) = scripts_of(studio)
    assert [after] != before
    assert after in studio.read("index.html")


def test_script_that_cannot_be_used_is_named(studio: Studio, tmp_path: Path) -> None:
    studio.set(mermaid=tmp_path / "gone.js")
    with pytest.raises(SiteError, match=r"cannot read the script .*gone\.js"):
        studio.build()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    studio.set(mermaid=tmp_path / "picture.png")
    with pytest.raises(SiteError, match=r"picture\.png is not a diagram script"):
        studio.build()
