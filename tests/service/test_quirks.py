"""Each quirk does what its name says, and only that."""

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.service.conftest import GROUP, PROJECT, WIKIS, Api
from tests.support.quirks import Quirk
from tests.support.quirky_app import BEND_PAGES, CUT_TEXT_BYTES
from tests.support.service import EmbeddedService, embedded_service


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x", "dir/page": "y"})
    return service


async def test_list_cuts_long_texts_and_single_reads_do_not(
    handbook: EmbeddedService, api: Api
) -> None:
    text = "é" * CUT_TEXT_BYTES
    await handbook.add_pages(PROJECT, {"long": text})
    handbook.quirks = {Quirk.TRUNCATES_LIST_CONTENT}

    listed = (await api.get(f"{WIKIS}?with_content=true")).json
    page = (await api.get(f"{WIKIS}/long")).json

    sizes = [len(entry["content"].encode()) for entry in listed]
    assert sizes == [1, 1, CUT_TEXT_BYTES]
    assert page["content"] == text


@pytest.mark.parametrize("quirk", sorted(BEND_PAGES | {Quirk.HALF_LIST}))
async def test_list_has_another_entity_tag_under_a_quirk(
    handbook: EmbeddedService, api: Api, quirk: Quirk
) -> None:
    etag = (await api.get(WIKIS)).headers["ETag"]
    handbook.quirks = {quirk}

    answer = await api.get(WIKIS, headers={"If-None-Match": etag})

    assert answer.status == 200
    etag = answer.headers["ETag"]
    assert (await api.get(WIKIS, headers={"If-None-Match": etag})).status == 304


async def test_body_is_cut_in_the_middle(handbook: EmbeddedService, api: Api) -> None:
    handbook.quirks = {Quirk.CUT_BODIES}
    with pytest.raises(aiohttp.ClientPayloadError):
        await api.get(f"{WIKIS}?with_content=true")
    for _ in range(2):
        assert (await api.get(WIKIS)).status == 200


async def test_quirks_hold_from_the_start_and_for_groups(tmp_path: Any) -> None:
    quirks = {Quirk.HALF_LIST, Quirk.EXTRA_FORMATS}
    async with (
        embedded_service(tmp_path, quirks=quirks) as service,
        aiohttp.ClientSession() as session,
    ):
        await service.add_group("docs", {"a": "", "b": ""})
        api = Api(session, service.url, service.token)
        answer = await api.get("/api/v4/groups/docs/wikis")

        assert service.quirks == quirks
        assert [page["slug"] for page in answer.json] == ["a", "legacy/foreign"]
        assert set(await service.files(GROUP)) == {"a.md", "b.md"}


def test_quirks_and_the_document_name_the_same_ones() -> None:
    text = (Path(__file__).parents[2] / "docs/service.md").read_text(encoding="utf-8")
    section, _, differences = text.partition("## Quirks")[2].partition("## Differences")
    named = re.findall(r"[Qq]uirks? ((?:`[a-z-]+`(?:, | and )?)+)", differences)
    quirks = {str(quirk) for quirk in Quirk}

    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", section)) == quirks
    assert {
        name for group in named for name in re.findall(r"`([a-z-]+)`", group)
    } < quirks
