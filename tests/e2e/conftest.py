"""One Chromium and one site of the user guide for all browser tests."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.author import WIKI, Author, second_window, writing
from tests.support.browser import Visit, running_chromium, serving_folder, visiting
from tests.support.preview import Desk
from wikisync.core.model import WikiOwner
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions, WikiSource

if TYPE_CHECKING:
    from playwright.async_api import Browser

SAMPLE = Path(__file__).resolve().parents[2] / "sample-site"
SERVICE = "https://gitlab.example.com"


def sample_wikis() -> list[WikiSource]:
    """The wikis of the user guide, as an export would find them."""
    tables = tomllib.loads((SAMPLE / "service.toml").read_text(encoding="utf-8"))
    owners = [("group", table) for table in tables["group"]]
    owners += [("project", table) for table in tables["project"]]
    return [
        WikiSource(
            WikiOwner("group" if kind == "group" else "project", table["path"]),
            title=table["name"],
            folder=SAMPLE / table["wiki"],
            web_url=f"{SERVICE}/{'groups/' if kind == 'group' else ''}{table['path']}",
            visibility=table["visibility"],
            description=table["description"],
        )
        for kind, table in owners
        if "wiki" in table
    ]


def build_sample(folder: Path, lang: str) -> Path:
    """The site of the user guide in a language of the interface."""
    options = SiteOptions(title="Sample wikis", lang=lang)
    build_site(sample_wikis(), folder / "site", options, cache=folder / "cache")
    return folder / "site"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """The place of a preview, with the wiki that an author writes in."""
    desk = Desk(tmp_path)
    desk.add(WIKI)
    return desk


@pytest.fixture(scope="session")
def sample_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the user guide."""
    return build_sample(tmp_path_factory.mktemp("sample"), "en")


@pytest.fixture(scope="session")
def rtl_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with an interface that runs from right to left."""
    return build_sample(tmp_path_factory.mktemp("sample-rtl"), "ar")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """Headless Chromium, started once."""
    async with running_chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=["file", "http"])
async def base(request: pytest.FixtureRequest, sample_site: Path) -> AsyncIterator[str]:
    """Address of the site: on the disk, and on a server below a base path."""
    if request.param == "file":
        yield sample_site.as_uri() + "/"
        return
    async with serving_folder(sample_site, "/some/where/") as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, file_base: str) -> AsyncIterator[Visit]:
    """A reader of the site on the disk."""
    async with visiting(chromium, file_base) as visit:
        yield visit


@pytest_asyncio.fixture(loop_scope="session")
async def author(chromium: Browser, desk: Desk) -> AsyncIterator[Author]:
    """A person who writes in the preview of the wiki on the desk."""
    async with writing(chromium, desk) as author:
        yield author


@pytest_asyncio.fixture(loop_scope="session")
async def other(author: Author) -> AsyncIterator[Author]:
    """The same person in a second tab."""
    async with second_window(author) as other:
        yield other


@pytest.fixture
def file_base(sample_site: Path) -> str:
    """Address of the site on the disk, where one way is enough."""
    return sample_site.as_uri() + "/"
