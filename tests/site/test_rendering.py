"""Pages rendered by several processes: the same bytes, and errors that name pages."""

import pickle
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from tests.site.sites import HANDBOOK, Studio
from tests.support.archive import unpack
from wikisync.core.model import Slug
from wikisync.core.system.worker import Worker
from wikisync.errors import SiteError
from wikisync.site import build, rendering, search_writing
from wikisync.site.index import BoundedReader
from wikisync.site.output_place import Written
from wikisync.site.pages import WikiPages
from wikisync.site.writers import Answer

MANY = "".join(f"-- p{number}.md --\n# P{number}\n\n[n](p1)\n" for number in range(40))


class Batches(list[int]):
    """How many pages each batch has that goes to a process."""

    before: Callable[[], object] = staticmethod(lambda: None)
    """What happens just before one goes."""


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """Let even a few pages be rendered by two processes; batches seen here."""
    batches = Batches()
    render = rendering.Renderers.render

    def seen(
        renderers: rendering.Renderers, batch: rendering.PagesOfWiki
    ) -> Sequence[Written]:
        batches.before()
        batches.append(len(batch[1]))
        return render(renderers, batch)

    monkeypatch.setattr(rendering, "FEW_PAGES", 3)
    monkeypatch.setattr(search_writing, "DOCUMENTS_APART", 3)
    for module in (rendering, search_writing):
        monkeypatch.setattr(module, "usable_cores", lambda: 2)
    monkeypatch.setattr(rendering.Renderers, "render", seen)
    return batches


@pytest.mark.parametrize("shows_all", [True, False])
def test_processes_make_the_bytes_that_one_makes(
    studio: Studio, in_processes: Batches, *, shows_all: bool
) -> None:
    studio.add(HANDBOOK + "-- _sidebar.md --\n[[guide]]\n", "docs/one")
    studio.add(MANY, "docs/two", visibility="public")
    studio.set(theme_options={"extra_css": ()}, url="https://docs.example.com")
    if shows_all:
        studio.show_all()
    studio.build()
    assert len(in_processes) > 2
    with pytest.MonkeyPatch.context() as patch:
        for module in (rendering, search_writing):
            patch.setattr(module, "usable_cores", lambda: 1)
        assert studio.clean_build() == studio.files()


def test_processes_of_a_new_site_start_while_its_pages_are_composed(
    studio: Studio, in_processes: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing needs to be counted first: all pages of it are rendered."""
    composed: list[Slug] = []
    seen: list[int] = []
    compose = WikiPages.shown

    def shown(pages: WikiPages, slug: Slug, *others: Any) -> bytes:
        composed.append(slug)
        return compose(pages, slug, *others)

    monkeypatch.setattr(WikiPages, "shown", shown)
    monkeypatch.setattr(rendering, "FEW_PAGES", 80)
    in_processes.before = lambda: seen.append(len(composed))
    studio.add(MANY, "docs/one")
    studio.add(MANY, "docs/two")
    studio.build()
    assert seen[0] < 80


def test_all_that_read_a_large_new_wiki_start_while_it_is_looked_at(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    prepare = BoundedReader.prepare

    def prepared(reader: BoundedReader, count: int = 1) -> None:
        begun.append(count)
        prepare(reader, count)

    monkeypatch.setattr(BoundedReader, "prepare", prepared)
    monkeypatch.setattr(build, "usable_cores", lambda: 2)
    monkeypatch.setattr(build, "MANY_PAGES", 3)
    studio.start("-- a.md --\nx\n-- b.md --\nx\n")
    assert 2 not in begun
    folder = studio.add("-- a.md --\nx\n-- b.md --\nx\n-- c.md --\nx\n", "docs/new")
    shutil.rmtree(studio.root / "cache")
    studio.build()
    assert begun.count(2) == 1
    (folder / "a.md").write_text("y\n")
    studio.build()
    assert begun.count(2) == 1


class Prepared(Worker[Answer]):
    """Workers that were started before there was a job for them."""

    seen: ClassVar[list[Worker[Answer]]]

    def prepare(self) -> None:
        self.seen.append(self)
        super().prepare()


@pytest.mark.usefixtures("in_processes")
def test_processes_of_a_new_site_start_before_its_pages_are_summed_up(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are gone where that fails."""
    monkeypatch.setattr(Prepared, "seen", [], raising=False)
    monkeypatch.setattr(rendering, "Worker", Prepared)

    def failing(_: object) -> None:
        assert len(Prepared.seen) == 2
        raise SiteError("summed up")

    studio.add(MANY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wikisync.site.report.links_of", failing)
        with pytest.raises(SiteError, match="summed up"):
            studio.build()
    assert [one._process for one in Prepared.seen] == [None, None]
    studio.build()
    assert len(Prepared.seen) == 4
    studio.set(title="Another")
    studio.build()
    assert len(Prepared.seen) == 4, "there, some pages may be kept"


def test_site_is_sent_once_to_a_process(
    studio: Studio, in_processes: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names all wikis: sent with each of them, it would cost their square."""
    sent: list[bytes] = []

    class Recorded(Worker[Answer]):
        def ask(self, job: object, *_: object) -> Answer:
            sent.append(pickle.dumps(job))
            return super().ask(job)

    monkeypatch.setattr(rendering, "Worker", Recorded)
    for number in range(6):
        studio.add(MANY, f"docs/w{number}")
    studio.build()
    assert len(sent) == len(in_processes) + 1 > 7, "and one job is the search index"
    assert 1 <= sum(b"SiteContext" in job for job in sent) <= 2


def test_few_pages_need_no_process(studio: Studio, in_processes: Batches) -> None:
    folder = studio.start(MANY)
    in_processes.clear()
    (folder / "p7.md").write_text("# P7\n\nMore.\n")
    studio.build()
    assert in_processes == []


def test_theme_that_fails_in_a_process_is_named(
    studio: Studio, in_processes: Batches
) -> None:
    studio.add(MANY)
    theme = unpack("-- templates/page.html --\n{{ page.nothing }}\n", studio.root / "t")
    studio.set(templates=theme)
    with pytest.raises(SiteError, match=r"page\.html:1: .*nothing") as caught:
        studio.build()
    assert in_processes
    assert "found while rendering p" in str(caught.value.hint)


def test_text_that_a_process_finds_damaged_is_made_anew(
    studio: Studio, in_processes: Batches
) -> None:
    studio.start(MANY)
    (bodies,) = (studio.root / "cache").glob("*.bodies")
    bodies.write_bytes(bytes(bodies.stat().st_size))
    studio.set(title="Another")
    studio.build()
    assert in_processes
    assert studio.clean_build() == studio.files()


def test_page_that_a_process_cannot_write_is_told(
    studio: Studio, in_processes: Batches
) -> None:
    studio.add(MANY)

    def without_staging() -> None:
        if in_processes:
            shutil.rmtree(studio.site / "-/staging", ignore_errors=True)

    in_processes.before = without_staging
    with pytest.raises(SiteError, match="cannot write the site"):
        studio.build()


def test_process_that_ends_is_told(
    studio: Studio, in_processes: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.add(MANY)
    monkeypatch.setattr(rendering, "RENDERS", "wikisync.site.no_such_module")
    with pytest.raises(SiteError, match="renders pages ended at p"):
        studio.build()
    assert list(studio.site.rglob("*.html")) == []
    assert in_processes


def test_index_of_a_process_is_brought_up_to_date(
    studio: Studio, in_processes: Batches
) -> None:
    """What the process left for updates is noted: whole shards and words."""
    folder = studio.start(MANY)
    assert in_processes
    (folder / "p7.md").write_text("# P7\n\nAnother heron.\n")
    (folder / "p8.md").unlink()
    studio.build()
    files = studio.files()
    assert any(b"heron" in files[path] for path in files if "-/search/t-" in path)
    assert studio.clean_build() == files


def index_is_made_by(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the processes that write do this in the place of a search index."""
    program = tmp_path / "other_index.py"
    program.write_text(
        "import os, threading\nfrom wikisync.site import render_worker\n"
        f"render_worker.made = lambda _: {statement}\nrender_worker.main()\n"
    )
    monkeypatch.setattr(rendering, "RENDERS", program)


@pytest.mark.usefixtures("in_processes")
def test_process_of_the_index_that_ends_is_told(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    studio.add(MANY)
    index_is_made_by("os._exit(1)", tmp_path, monkeypatch)
    with pytest.raises(SiteError, match="writes the search index ended"):
        studio.build()


def test_sources_of_a_folder_named_from_here_are_copied(
    studio: Studio, in_processes: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes that copy them run in another folder."""
    folder = studio.add(MANY, visibility="public")
    monkeypatch.chdir(folder.parent)
    studio.sources[:] = [replace(studio.sources[0], folder=Path(folder.name))]
    studio.build()
    assert in_processes
    assert (studio.site / "p7.md").read_bytes() == (folder / "p7.md").read_bytes()


def test_source_that_goes_before_it_is_copied_is_left_out(
    studio: Studio, in_processes: Batches
) -> None:
    """The next build finds out what became of it."""
    folder = studio.add(MANY, visibility="public")
    in_processes.before = lambda: (folder / "p7.md").unlink(missing_ok=True)
    report = studio.build()
    assert in_processes
    files = studio.files()
    assert files["p8.md"] == b"# P8\n\n[n](p1)\n"
    assert "p7.html" in files
    assert "p7.md" not in files
    assert [one.subject for one in report.problems] == ["p7.md"]
    studio.build()
    assert "p7.html" not in studio.files()


def test_source_is_what_was_copied(studio: Studio, in_processes: Batches) -> None:
    """A page that is saved during a build, and set back, is not taken for known."""
    folder = studio.add(MANY, visibility="public")
    page, text = folder / "p7.md", (folder / "p7.md").read_bytes()
    in_processes.before = lambda: page.write_text("Saved meanwhile.\n")
    studio.build()
    assert in_processes
    assert studio.files()["p7.md"] == b"Saved meanwhile.\n"
    in_processes.before = lambda: None
    page.write_bytes(text)
    studio.build()
    assert studio.files()["p7.md"] == text


def test_no_more_processes_work_at_once_than_there_are_cores(
    studio: Studio, in_processes: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has memory of its own, that of the search index above all."""
    at_once, most = 0, 0
    counted = threading.Lock()

    class Counted(Worker[Answer]):
        def ask(self, job: object, *_: object) -> Answer:
            nonlocal at_once, most
            with counted:
                at_once += 1
                most = max(most, at_once)
            try:
                return super().ask(job)
            finally:
                with counted:
                    at_once -= 1

    monkeypatch.setattr(rendering, "Worker", Counted)
    monkeypatch.setattr(rendering, "AT_ONCE", threading.BoundedSemaphore(1))
    studio.start(MANY)
    assert len(in_processes) > 1
    assert most == 1


@pytest.mark.usefixtures("in_processes")
def test_build_that_fails_waits_for_no_index(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The process of the index never answers here."""
    index_is_made_by("threading.Event().wait()", tmp_path, monkeypatch)
    monkeypatch.setattr("wikisync.site.rendering.math.inf", 30.0)
    started: list[Worker[Answer]] = []
    broken_off: list[Worker[Answer]] = []

    class Seen(Worker[Answer]):
        def __init__(self, *words: Any, **how: Any) -> None:
            super().__init__(*words, **how)
            started.append(self)

        def break_off(self) -> None:
            broken_off.append(self)
            super().break_off()

    monkeypatch.setattr(rendering, "Worker", Seen)
    studio.add(MANY)
    theme = unpack("-- templates/page.html --\n{{ page.nothing }}\n", studio.root / "t")
    studio.set(templates=theme)
    with pytest.raises(SiteError, match="nothing"):
        studio.build()
    assert broken_off == started
    assert len(started) > 1
