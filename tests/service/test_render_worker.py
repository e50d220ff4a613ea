"""No page holds the service up, and none is lost that cannot be rendered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wikisync.service.editing import Change
from wikisync.service.pages import ShownPage
from wikisync.service.render_worker import RenderJob, RenderWorker
from wikisync.service.repository import Author, WikiRepository


@pytest.fixture
def worker() -> Iterator[RenderWorker]:
    made = RenderWorker()
    yield made
    made.close()


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    made = WikiRepository(tmp_path / "r.git")
    change = Change("m", writes={"home.md": b"x", "other.md": b"y"})
    made.change(lambda _tree: change, Author("n", "e"))
    return made


def job_of(repository: WikiRepository, content: str) -> RenderJob:
    page = ShownPage(
        format="markdown",
        slug="home",
        title="home",
        content=content,
        encoding="UTF-8",
        front_matter={},
    )
    return RenderJob(
        page,
        str(repository.path),
        repository.tree().commit or "",
        "project",
        "docs/book",
        "http://127.0.0.1",
    )


def test_page_is_rendered_with_its_links(
    worker: RenderWorker, repository: WikiRepository
) -> None:
    html = worker.render(job_of(repository, "**b** [o](other)"))

    assert "<strong>b</strong>" in html
    assert "/docs/book/-/wikis/other" in html


def test_page_over_the_deadline_is_its_source_and_the_next_is_rendered(
    worker: RenderWorker, repository: WikiRepository
) -> None:
    worker.render(job_of(repository, "x"))
    worker.deadline_s = 0.01
    # some megabytes take seconds on any machine
    late = worker.render(job_of(repository, "<b>**x** [o](other)</b>\n\n" * 50_000))
    worker.deadline_s = 60.0
    html = worker.render(job_of(repository, "**x**"))

    assert "<pre>&lt;b&gt;**x** [o](other)&lt;/b&gt;" in late
    assert "took too long" in late
    assert "<strong>x</strong>" in html


def test_worker_that_died_is_replaced(
    worker: RenderWorker, repository: WikiRepository
) -> None:
    worker.render(job_of(repository, "x"))
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()

    assert "<strong>x</strong>" in worker.render(job_of(repository, "**x**"))
