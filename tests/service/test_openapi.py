"""The description of the API: a valid one, of all there is, and true of the answers."""

import io
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from msgspec.structs import replace

from tests.service.conftest import Api
from tests.support.page_ids import page_ids
from tests.support.service import EmbeddedService
from wikisync.contract.parameters import parameters_of
from wikisync.contract.routes import ENDPOINTS
from wikisync.service.comments import add_comment
from wikisync.service.offers import route_table
from wikisync.service.server import Router

# newer than other packages for tests: `make test` installs both
jsonschema = pytest.importorskip("jsonschema")
openapi_spec_validator = pytest.importorskip("openapi_spec_validator")

DESCRIPTION = "/api/v4/openapi.json"
Asked = list[tuple[str, str, str, dict[str, Any]]]


@pytest.fixture
async def document(api: Api) -> Any:
    """The description, as a stranger gets it."""
    return (await api.as_user(None).get(DESCRIPTION)).json


@pytest.fixture
async def full(service: EmbeddedService, api: Api) -> Api:
    """A service in which there is something of everything."""
    pages = {"home": "---\ntitle: x\n---\n# x\n"}
    await service.add_group("docs/inner", pages, visibility="public")
    await service.add_group("team")
    await service.add_project("docs/handbook", pages, visibility="public")
    await service.add_code("docs/handbook", {"README.md": b"x", "LICENSE": b"MIT"})
    await service.add_user("writer")
    await service.add_member("docs/handbook", "writer", 30)
    project = "/api/v4/projects/docs%2Fhandbook"
    await api.put(project + "/custom_attributes/team", json={"value": "a"})
    await api.post(project + "/star")
    await api.post(project + "/share", json={"group_id": 4, "group_access": 30})
    await api.post(project + "/fork")
    await service.wait_for_imports()
    await service.ask(page_ids, "project", 1, ["home"])
    await service.ask(add_comment, 1, 1, "why?", is_internal=False)
    return api


def described(document: Any, method: str, template: str, status: int) -> Any:
    """What the description says of an answer."""
    responses = document["paths"][template][method.lower()]["responses"]
    return responses.get(str(status)) or responses[f"{status // 100}XX"]


def problems(document: Any, schema: Any, body: object) -> list[str]:
    """Where a body is otherwise than described."""
    rooted = schema | {"components": document["components"]}
    found = jsonschema.Draft202012Validator(rooted).iter_errors(body)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_description_is_valid(document: Any) -> None:
    assert (
        list(openapi_spec_validator.OpenAPIV31SpecValidator(document).iter_errors())
        == []
    )
    assert document["openapi"] == "3.1.0"


def test_description_names_the_address(document: Any, api: Api) -> None:
    assert document["servers"] == [{"url": f"{api.base}/api/v4"}]


def test_every_parameter_is_described(document: Any) -> None:
    for endpoint in ENDPOINTS:
        template = endpoint.template.replace("{owner}", "projects")
        operation = document["paths"][template][endpoint.method.lower()]
        bodies = operation.get("requestBody", {}).get("content", {})
        form = bodies.get("multipart/form-data", {}).get("schema", {})
        parameters = operation.get("parameters", ())
        named = {one["name"].removesuffix("[]") for one in parameters}

        assert named | {*form.get("properties", ())} == {*parameters_of(endpoint)}


@pytest.mark.parametrize("name", ["page", "per_page"])
def test_pages_are_counted_from_one(document: Any, name: str) -> None:
    parameters = document["paths"]["/projects"]["get"]["parameters"]
    [described] = [one for one in parameters if one["name"] == name]

    assert described["schema"] == {"type": "integer", "minimum": 1}


async def test_what_is_described_has_an_address(document: Any) -> None:
    router = Router(route_table())
    found = [
        await router.match(make_mocked_request(method.upper(), "/api/v4" + path))
        for path, operations in document["paths"].items()
        for method in operations.keys() - {"parameters"}
    ]

    assert found
    assert all(isinstance(match, tuple) for match in found)


async def test_free_edition_describes_no_wikis_of_groups(
    service: EmbeddedService, api: Api, document: Any
) -> None:
    settings = service.running.settings
    profile = replace(settings.profile, is_enterprise=False)
    service.running.settings = replace(settings, profile=profile)
    free = (await api.get(DESCRIPTION)).json

    gone = document["paths"].keys() - free["paths"].keys()
    assert {path.removesuffix("/{slug}") for path in gone} == {
        "/projects/{id}/restore",
        "/groups/{id}/wikis",
        "/groups/{id}/wikis/attachments",
        "/groups/{id}/wiki_pages/{page_id}/notes",
        "/groups/{id}/wiki_pages/{page_id}/notes/{note_id}",
    }


def test_field_that_is_not_described_is_found(document: Any) -> None:
    schema = {"$ref": "#/components/schemas/VersionRecord"}

    assert problems(document, schema, {"version": "17", "revision": "x"}) == []
    assert problems(document, schema, {"version": "17", "new": 1}) != []


P = "/projects/{id}"
W = "/projects/{id}/wikis"
C = "/projects/{id}/wiki_pages/{page_id}/notes"
MAINTAINER = {"username": "root", "access_level": 40}
ALL = "?statistics=true&license=true&with_custom_attributes=true"
ASKED: Asked = [
    ("GET", "/version", "/version", {}),
    ("GET", "/metadata", "/metadata", {}),
    ("GET", "/user", "/user", {}),
    ("GET", "/personal_access_tokens/self", "/personal_access_tokens/self", {}),
    ("GET", "/projects", "/projects" + ALL, {}),
    ("GET", "/projects", "/projects?simple=true", {}),
    ("GET", P, "/projects/1" + ALL, {}),
    ("GET", P, "/projects/2" + ALL, {}),
    ("GET", P, "/projects/99", {}),
    ("PUT", P, "/projects/1", {"json": {"description": "x", "topics": ["a"]}}),
    ("PUT", P, "/projects/1", {"json": {}}),
    ("PUT", P, "/projects/1", {"json": {"path": "-"}}),
    ("DELETE", P, "/projects/1", {}),
    ("POST", "/projects", "/projects", {"json": {"name": "new"}}),
    ("POST", "/projects/user/{user_id}", "/projects/user/2", {"json": {"name": "n"}}),
    ("GET", P + "/users", "/projects/1/users", {}),
    ("GET", P + "/groups", "/projects/1/groups?with_shared=true", {}),
    ("GET", P + "/share_locations", "/projects/1/share_locations", {}),
    ("GET", P + "/starrers", "/projects/1/starrers", {}),
    ("GET", P + "/languages", "/projects/1/languages", {}),
    ("GET", P + "/import", "/projects/2/import", {}),
    ("GET", P + "/forks", "/projects/1/forks", {}),
    ("POST", P + "/fork", "/projects/1/fork", {"json": {"path": "again"}}),
    ("POST", P + "/fork", "/projects/1/fork", {}),
    ("POST", P + "/star", "/projects/2/star", {}),
    ("POST", P + "/unstar", "/projects/1/unstar", {}),
    ("POST", P + "/archive", "/projects/1/archive", {}),
    ("POST", P + "/unarchive", "/projects/1/unarchive", {}),
    ("POST", P + "/restore", "/projects/1/restore", {}),
    ("PUT", P + "/transfer", "/projects/1/transfer", {"json": {"namespace": "team"}}),
    ("POST", P + "/share", "/projects/1/share", {"json": {"group_id": 4}}),
    (
        "POST",
        P + "/share",
        "/projects/2/share",
        {"json": {"group_id": 4, "group_access": 30, "expires_at": "2099-01-01"}},
    ),
    (
        "POST",
        P + "/import_project_members/{source_id}",
        "/projects/2/import_project_members/1",
        {},
    ),
    ("GET", P + "/custom_attributes", "/projects/1/custom_attributes", {}),
    (
        "PUT",
        P + "/custom_attributes/{key}",
        "/projects/1/custom_attributes/k",
        {"json": {"value": "v"}},
    ),
    ("GET", "/users/{user_id}/projects", "/users/root/projects", {}),
    ("GET", "/users/{user_id}/starred_projects", "/users/1/starred_projects", {}),
    ("GET", "/groups", "/groups", {}),
    ("GET", "/groups/{id}", "/groups/docs%2Finner", {}),
    ("GET", "/groups/{id}/projects", "/groups/docs/projects", {}),
    ("GET", "/groups/{id}/subgroups", "/groups/docs/subgroups", {}),
    ("GET", W, "/projects/1/wikis", {}),
    ("GET", W, "/projects/1/wikis?with_content=true", {}),
    ("GET", W + "/{slug}", "/projects/1/wikis/home", {}),
    ("GET", W + "/{slug}", "/projects/1/wikis/home?render_html=true", {}),
    ("GET", W + "/{slug}", "/projects/1/wikis/none", {}),
    ("POST", W, "/projects/1/wikis", {"json": {"title": "t", "content": "c"}}),
    ("POST", W, "/projects/1/wikis", {"json": {"title": "home", "content": "c"}}),
    ("PUT", W + "/{slug}", "/projects/1/wikis/home", {"json": {"content": "c"}}),
    ("GET", "/groups/{id}/wikis", "/groups/docs%2Finner/wikis", {}),
    ("GET", "/groups/{id}/members", "/groups/docs/members", {}),
    ("POST", "/groups", "/groups", {"json": {"name": "n", "path": "n"}}),
    ("POST", "/groups", "/groups", {"json": {"name": "n", "path": "docs"}}),
    ("GET", "/users", "/users?username=writer", {}),
    ("GET", "/users/{user_id}", "/users/2", {}),
    ("GET", "/search", "/search?scope=wiki_blobs&search=x", {}),
    ("GET", "/groups/{id}/search", "/groups/docs/search?scope=wiki_blobs&search=x", {}),
    ("GET", P + "/search", "/projects/1/search?scope=wiki_blobs&search=x", {}),
    ("GET", P + "/members", "/projects/1/members", {}),
    ("GET", P + "/members/all", "/projects/1/members/all", {}),
    ("GET", P + "/members/all/{user_id}", "/projects/1/members/all/2", {}),
    ("GET", P + "/members/{user_id}", "/projects/1/members/2", {}),
    ("POST", P + "/members", "/projects/1/members", {"json": MAINTAINER}),
    ("PUT", P + "/members/{user_id}", "/projects/1/members/2", {"json": MAINTAINER}),
    ("GET", C, "/projects/1/wiki_pages/1/notes", {}),
    ("POST", C, "/projects/1/wiki_pages/1/notes", {"json": {"body": "again"}}),
    ("GET", C + "/{note_id}", "/projects/1/wiki_pages/1/notes/1", {}),
]


async def test_answer_is_as_described(full: Api, document: Any) -> None:
    """What only reads comes first: a change may take away what is read."""
    for method, template, path, sent in sorted(ASKED, key=lambda one: one[0] != "GET"):
        answer = await full(method, "/api/v4" + path, **sent)

        said = described(document, method, template, answer.status)
        schema = said["content"]["application/json"]["schema"]
        assert problems(document, schema, answer.json) == [], path


@pytest.mark.parametrize(
    ("template", "path"), [(P + "/uploads", "/uploads"), (W + "/attachments",) * 2]
)
async def test_upload_is_as_described(
    full: Api, document: Any, template: str, path: str
) -> None:
    path = path.replace(P, "")
    answer = await full.post(
        f"/api/v4/projects/1{path}", data={"file": io.BytesIO(b"x")}
    )

    said = described(document, "POST", template, 201)
    assert answer.status == 201
    assert (
        problems(document, said["content"]["application/json"]["schema"], answer.json)
        == []
    )


@pytest.mark.parametrize("path", ["/projects", "/projects/1", "/users/1/projects"])
async def test_answer_to_a_stranger_is_as_described(
    full: Api, document: Any, path: str
) -> None:
    answer = await full.as_user(None).get("/api/v4" + path)

    template = path.replace("projects/1", "projects/{id}").replace("/1/", "/{user_id}/")
    said = described(document, "GET", template, 200)
    assert answer.status == 200
    assert (
        problems(document, said["content"]["application/json"]["schema"], answer.json)
        == []
    )
