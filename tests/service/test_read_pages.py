"""Pages for a browser, where the links of a website lead."""

from tests.service.conftest import Api
from tests.support.service import EmbeddedService

TEXT = "# Head\n\n[next](dir/page) <script>alert(1)</script>\n"
PAGES = "/docs/handbook/-/wikis"


async def test_page_can_be_read_where_it_is_shown_and_edited(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project(
        "docs/handbook", {"home": TEXT, "dir/page": TEXT}, visibility="public"
    )

    for path in ("", "/home", "/home/edit", "/dir/page", "/dir/page/edit"):
        answer = await api.as_user(None).get(PAGES + path)

        html, headers = answer.body.decode(), answer.headers
        assert answer.status == 200, path
        assert headers["Content-Type"].startswith("text/html")
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert 'href="/docs/handbook/-/wikis/dir/page"' in html
        assert "<script" not in html
        assert html.count("<h1") == 1


async def test_page_of_a_group_can_be_read(service: EmbeddedService, api: Api) -> None:
    await service.add_group("docs", {"home": "Text of the group"})

    answer = await api.get("/groups/docs/-/wikis/home/edit")

    assert "Text of the group" in answer.body.decode()


async def test_title_of_a_page_is_text(service: EmbeddedService, api: Api) -> None:
    await service.add_project("docs/handbook", {"a<b>{path}": "x {title}"})

    html = (await api.get(f"{PAGES}/a%3Cb%3E%7Bpath%7D")).body.decode()

    assert "<h1>a&lt;b&gt;{path}</h1>" in html
    assert "x {title}" in html


async def test_page_that_is_not_there_is_not_found(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": TEXT})

    for path in ("/none", "/none/edit", "/home.md"):
        answer = await api.get(PAGES + path)

        assert (answer.status, answer.json) == (404, {"error": "404 Not Found"}), path


async def test_page_of_a_private_wiki_is_shown_to_those_who_may_read_it(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": TEXT})

    stranger = api.as_user(None)
    refused = await stranger.get(f"{PAGES}/home")
    none = await stranger.get("/docs/none/-/wikis/home")
    shown = await stranger.get(f"{PAGES}/home?private_token={service.token}")

    assert (refused.status, refused.json) == (none.status, none.json)
    assert refused.status == 404
    assert shown.status == 200
