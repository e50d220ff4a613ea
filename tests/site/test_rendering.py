"""Pages rendered by several processes: the same bytes, and errors that name pages."""

import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.site.sites import HANDBOOK, Studio
from tests.support.archive import unpack
from wikisync.core.system.worker import Worker
from wikisync.errors import SiteError
from wikisync.site import rendering
from wikisync.site.theme import load_theme

MANY = "".join(f"-- p{number}.md --\n# P{number}\n\n[n](p1)\n" for number in range(40))


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let even a few pages be rendered by two processes; batches seen here."""
    batches: list[int] = []
    render = rendering._Renderers.render

    def seen(
        renderers: rendering._Renderers, batch: rendering.PagesOfWiki
    ) -> Sequence[rendering.Written]:
        batches.append(len(batch[1]))
        return render(renderers, batch)

    monkeypatch.setattr(rendering, "FEW_PAGES", 3)
    monkeypatch.setattr(rendering, "usable_cores", lambda: 2)
    monkeypatch.setattr(rendering._Renderers, "render", seen)
    return batches


@pytest.mark.parametrize("shows_all", [True, False])
def test_processes_make_the_bytes_that_one_makes(
    studio: Studio, in_processes: list[int], *, shows_all: bool
) -> None:
    studio.add(HANDBOOK + "-- _sidebar.md --\n[[guide]]\n", "docs/one")
    studio.add(MANY, "docs/two", visibility="public")
    studio.set(theme_options={"extra_css": ()}, url="https://docs.example.com")
    if shows_all:
        studio.show_all()
    studio.build()
    assert len(in_processes) > 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "usable_cores", lambda: 1)
        assert studio.clean_build() == studio.files()


def test_site_is_sent_once_to_a_process(
    studio: Studio, in_processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names all wikis: sent with each of them, it would cost their square."""
    sent: list[bytes] = []

    class Recorded(Worker[rendering.Answer]):
        def ask(self, job: object, *_: object) -> rendering.Answer:
            sent.append(pickle.dumps(job))
            return super().ask(job)

    monkeypatch.setattr(rendering, "Worker", Recorded)
    for number in range(6):
        studio.add(MANY, f"docs/w{number}")
    studio.build()
    assert len(sent) == len(in_processes) > 6
    assert 1 <= sum(b"SiteContext" in job for job in sent) <= 2


def test_few_pages_need_no_process(studio: Studio, in_processes: list[int]) -> None:
    folder = studio.add(MANY)
    studio.build()
    in_processes.clear()
    (folder / "p7.md").write_text("# P7\n\nMore.\n")
    studio.build()
    assert in_processes == []


def test_theme_that_fails_in_a_process_is_named(
    studio: Studio, in_processes: list[int]
) -> None:
    studio.add(MANY)
    theme = unpack("-- templates/page.html --\n{{ page.nothing }}\n", studio.root / "t")
    studio.set(templates=theme)
    with pytest.raises(SiteError, match=r"page\.html:1: .*nothing") as caught:
        studio.build()
    assert in_processes
    assert "found while rendering p" in str(caught.value.hint)


def test_text_that_a_process_finds_damaged_is_made_anew(
    studio: Studio, in_processes: list[int]
) -> None:
    studio.add(MANY)
    studio.build()
    (bodies,) = (studio.root / "cache").glob("*.bodies")
    bodies.write_bytes(bytes(bodies.stat().st_size))
    studio.set(title="Another")
    studio.build()
    assert in_processes
    assert studio.clean_build() == studio.files()


def test_page_that_a_process_cannot_write_is_told(
    studio: Studio, in_processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.add(MANY)
    render = rendering._Renderers.render

    def without_staging(
        renderers: rendering._Renderers, batch: rendering.PagesOfWiki
    ) -> Sequence[rendering.Written]:
        if in_processes:
            shutil.rmtree(studio.site / "-/staging", ignore_errors=True)
        return render(renderers, batch)

    monkeypatch.setattr(rendering._Renderers, "render", without_staging)
    with pytest.raises(SiteError, match="cannot write the site"):
        studio.build()


def test_process_that_ends_is_told(
    studio: Studio, in_processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.add(MANY)
    monkeypatch.setattr(rendering, "RENDERS", "wikisync.site.no_such_module")
    with pytest.raises(SiteError, match="renders pages ended at p"):
        studio.build()
    assert list(studio.site.rglob("*.html")) == []
    assert in_processes


def test_theme_is_the_same_in_another_process(tmp_path: Path) -> None:
    project = unpack("-- templates/page.html --\nours\n", tmp_path / "theme")
    theme = load_theme("default", project=project, options={"extra_css": []})
    sent = pickle.loads(pickle.dumps(theme))
    assert sent.fingerprint == theme.fingerprint
    assert sent.options == theme.options
    assert sent.find("page.html") == theme.find("page.html")
