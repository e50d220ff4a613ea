"""Repositories are packed in the background."""

import asyncio
from pathlib import Path

import pytest

from tests.support.git import needs_git, run_git
from tests.support.service import AUTHOR, embedded_service
from wikisync.core.model import WikiOwner
from wikisync.service import jobs
from wikisync.service.editing import CommitPlan
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Settings

pytestmark = needs_git


async def test_service_packs_a_wiki_that_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PACK", ("-c", "gc.auto=1", *jobs.PACK[2:]))
    loop, packed, close = (
        asyncio.get_running_loop(),
        asyncio.Event(),
        WikiRepository.close_packs,
    )

    def close_then_tell(repository: WikiRepository) -> None:
        close(repository)
        loop.call_soon_threadsafe(packed.set)

    monkeypatch.setattr(WikiRepository, "close_packs", close_then_tell)
    settings = Settings(measure_interval_s=0.05)
    pages = tmp_path / "wiki"
    pages.mkdir()
    for number in range(1500):
        (pages / f"page-{number}.md").write_text(f"# Page\n\nText {number}.\n")
    async with embedded_service(tmp_path / "data", settings=settings) as service:
        await service.load_folder(pages)
        storage = await service.wiki(WikiOwner("project", "local/wiki"))
        repository = storage.repository
        async with asyncio.timeout(30):
            await packed.wait()
        assert list((repository.path / "objects" / "pack").glob("*.pack"))
        assert not (repository.path / "gc.pid").exists()
        change = CommitPlan("edit", writes={"page-1.md": b"# Page"})
        await storage.change(lambda _tree: change, AUTHOR)

        checked = await run_git("fsck", "--full", "--strict", folder=repository.path)
        assert (checked.code, checked.err) == (0, "")
        blobs = [file.blob for file in repository.tree().files]
        texts = list(repository.read_many(blobs))
        assert len(texts) == 1500
        assert all(text.startswith(b"# Page") for text in texts)
