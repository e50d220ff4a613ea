"""The promise of the preview: after any edits it shows what a clean build would.

A page is asked for right after the edits, while others may be unread; its own text is
then that of its file.  Once all are read, every page is that of the build.
"""

import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.site.sites import Studio
from tests.site.test_incremental import EDITS, WIKIS, add_wikis, apply_edits
from wikisync.core.model import Slug
from wikisync.folder.naming import parse_path
from wikisync.site.addresses import LLMS, LLMS_FULL
from wikisync.site.cache import open_cache
from wikisync.site.preview import world as preview_world
from wikisync.site.preview.pages import Rendered
from wikisync.site.preview.site import LiveSite
from wikisync.site.preview.windows import Reading
from wikisync.site.preview.world import PreviewInputs
from wikisync.site.sources import SourceFile

Edits = list[tuple[str, str, str | None]]


class Author:
    """Somebody who edits wikis and looks at the preview of all."""

    def __init__(self, studio: Studio, site: LiveSite) -> None:
        self.studio = studio
        self.site = site

    def save(self, edits: Edits) -> None:
        """Some files, told by their paths as the watcher does."""
        apply_edits(self.studio, edits)
        told = {self.studio.root / "wikis" / wiki / name for wiki, name, _ in edits}
        self.site.refresh(frozenset(map(str, told)))

    def page_of(self, wiki: str, name: str) -> str | None:
        """Output path of the page of a file; None where the site has it not."""
        found = parse_path(name)
        number = WIKIS.index(wiki)
        return self.site.wikis[number][1].get(Slug(found[0])) if found else None

    def read_all(self) -> None:
        """Let the preview read what nobody asked for."""
        while self.site.read_on():
            pass

    def shown(self, path: str) -> bytes:
        found = self.site.answer(path)
        if isinstance(found, SourceFile):
            return found.folder.joinpath(found.name).read_bytes()
        assert isinstance(found, Rendered)
        # what only a preview marks: where the blocks of a page begin and end
        content = re.sub(rb"<!--(?:blocks|end)-->", b"", found.content)
        return content if found.is_found else b"not found"


def own_lines(page: bytes) -> list[str]:
    """What a page says of itself alone, of all that ``SHOW_ALL`` prints."""
    return re.findall(r"^(?:PAGE|META|TOC) .*", page.decode(), re.MULTILINE)


@contextmanager
def authoring() -> Iterator[Author]:
    root = Path(tempfile.mkdtemp())
    studio = Studio(root)
    add_wikis(studio)
    # a preview has no sources beside its pages: who looks at it has them
    studio.set(sources=False)
    try:
        with open_cache(root / "live") as cache:
            site = LiveSite(
                lambda: PreviewInputs(tuple(studio.sources), studio.options), Reading()
            )
            site.use(cache)
            site.refresh(None)
            yield Author(studio, site)
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("read_at_once", [0, 3, 100])
@given(saves=st.lists(EDITS, min_size=1, max_size=4), asked=st.randoms())
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_preview_after_any_edits_equals_a_clean_build(
    read_at_once: int, saves: list[Edits], asked: random.Random
) -> None:
    """Every file, byte for byte, with templates that print all that they are given."""
    with pytest.MonkeyPatch.context() as patch, authoring() as author:
        patch.setattr(preview_world, "READ_AT_ONCE_MAX", read_at_once)
        for edits in saves:
            author.save(edits)
            path = author.page_of(*asked.choice(edits)[:2])
            if path is not None:
                built = author.studio.clean_build()[path]
                assert own_lines(author.shown(path)) == own_lines(built)
        author.read_all()
        assert author.site.failure is None
        clean = author.studio.clean_build()
        left_out = {"404.html", "robots.txt", ".nojekyll", "sitemap.xml"}
        left_out |= {LLMS, LLMS_FULL}
        paths = [path for path in clean if path not in left_out]
        paths = [path for path in paths if not path.endswith((".json", ".js"))]
        shown = {path: author.shown(path) for path in paths}
        assert shown == {path: clean[path] for path in paths}
