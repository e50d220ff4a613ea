"""Tokens in all their forms, and what they say of themselves."""

from tests.service.conftest import WIKIS, Api
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService

VERSION = "/api/v4/version"


async def test_version_and_metadata_need_a_token(api: Api) -> None:
    version = await api.get(VERSION)
    metadata = await api.get("/api/v4/metadata")
    anonymous = await api.as_user(None).get(VERSION)

    assert (version.status, set(version.json)) == (200, {"version", "revision"})
    assert metadata.json["version"] == version.json["version"]
    assert metadata.json["enterprise"] is True
    assert (anonymous.status, anonymous.json) == (401, {"message": "401 Unauthorized"})


async def test_user_is_the_tokens_owner(service: EmbeddedService, api: Api) -> None:
    token = await service.add_user("dana")

    answer = await api.as_user(token).get("/api/v4/user")

    assert answer.json["username"] == "dana"
    assert answer.json["web_url"] == f"{service.url}/dana"
    assert "is_admin" not in answer.json
    assert (await api.get("/api/v4/user")).json["is_admin"] is True


async def test_token_tells_of_itself_whatever_its_scope(
    service: EmbeddedService, api: Api
) -> None:
    token = await service.add_user(
        "dana", scopes=("read_repository",), expires_on="2999-01-31"
    )

    answer = await api.as_user(token).get("/api/v4/personal_access_tokens/self")

    assert answer.json["scopes"] == ["read_repository"]
    assert answer.json["expires_at"] == "2999-01-31"
    assert token not in answer.body.decode()


async def test_services_before_15_5_have_no_word_of_a_token(
    service: EmbeddedService, api: Api
) -> None:
    service.quirks = {Quirk.SILENT_TOKENS}

    answer = await api.get("/api/v4/personal_access_tokens/self")

    assert (answer.status, answer.json) == (404, {"error": "404 Not Found"})


async def test_token_is_taken_in_every_form(service: EmbeddedService, api: Api) -> None:
    token, nobody = service.token, api.as_user(None)
    headers = [
        {"PRIVATE-TOKEN": token},
        {"Authorization": f"Bearer {token}"},
        {"Authorization": f"bearer {token}"},
    ]

    answers = [
        *[await nobody.get(VERSION, headers=given) for given in headers],
        await nobody.get(f"{VERSION}?private_token={token}"),
        await nobody.get(f"{VERSION}?access_token={token}"),
    ]

    assert [answer.status for answer in answers] == [200] * 5


async def test_token_is_taken_from_a_form(service: EmbeddedService, api: Api) -> None:
    await service.add_project("docs/handbook")

    answer = await api.as_user(None).post(
        WIKIS, data={"title": "a", "content": "b", "private_token": service.token}
    )

    assert answer.status == 201


async def test_nobody_acts_as_another_user(service: EmbeddedService, api: Api) -> None:
    await service.add_user("dana")

    by_field = await api.post("/api/v4/projects", json={"name": "a", "sudo": "dana"})
    by_header = await api.get("/api/v4/user", headers={"Sudo": "dana"})

    assert (by_field.status, by_header.status) == (403, 403)


async def test_scope_bounds_what_a_token_may_do(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    expected = {
        "api": [200, 200, 201],
        "read_api": [200, 200, 403],
        "read_user": [200, 403, 403],
        "write_repository": [403, 403, 403],
    }

    for scope, statuses in expected.items():
        token = await service.add_user("d", scopes=(scope,), is_admin=True)
        person = api.as_user(token)
        answers = [
            await person.get("/api/v4/user"),
            await person.get(WIKIS),
            await person.post(WIKIS, json={"title": "a", "content": ""}),
        ]

        assert [answer.status for answer in answers] == statuses, scope


async def test_small_scope_is_named_in_the_oauth_shape(
    service: EmbeddedService, api: Api
) -> None:
    token = await service.add_user("dana", scopes=("read_api",))

    answer = await api.as_user(token).post(WIKIS, json={"title": "a", "content": ""})

    assert answer.json == {
        "error": "insufficient_scope",
        "error_description": (
            "The request requires higher privileges than provided by the access token."
        ),
        "scope": "api read_api",
    }
