"""Files that are uploaded to a project, and its topics."""

import aiohttp

from tests.service.conftest import Api
from tests.support.service import EmbeddedService

BOOK = "/api/v4/projects/docs%2Fbook"


async def test_upload_is_kept_and_read_by_its_address(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/book")
    content = bytes(range(256)) * 4096
    form = aiohttp.FormData()
    form.add_field("file", content, filename="dk.png")

    sent = await api.post(f"{BOOK}/uploads", data=form)
    api_read = await api.get(f"{BOOK}{sent.json['url']}")
    web_read = await api.get(sent.json["full_path"])
    hidden = await api.as_user(None).get(sent.json["full_path"])
    absent = await api.get(f"{BOOK}/uploads/{'0' * 32}/dk.png")

    url = sent.json["url"]
    assert sent.status == 201
    assert sent.json == {
        "id": 1,
        "alt": "dk",
        "url": url,
        "full_path": f"/-/project/1{url}",
        "markdown": f"![dk]({url})",
    }
    assert api_read.body == web_read.body == content
    assert (hidden.status, absent.status) == (404, 404)


async def test_topics_are_told_in_the_order_given(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/book")

    await api.put(BOOK, json={"topics": ["b", "c", "a"]})
    changed = await api.put(BOOK, json={"topics": ["c", "a", "b"]})

    assert changed.json["topics"] == ["c", "a", "b"]
