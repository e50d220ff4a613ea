"""The description of the API: a valid one, of all there is, and true of the answers."""

import io
import json
import re
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from msgspec.structs import replace

from tests.service.conftest import Answer, Api
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


def template_of(document: Any, method: str, path: str) -> str:
    """Of the addresses that are described, the one with the fewest names."""
    fitting = [
        template
        for template, operations in document["paths"].items()
        if method.lower() in operations
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path.partition("?")[0])
    ]
    return str(min(fitting, key=lambda template: template.count("{")))


def problems_of(document: Any, method: str, path: str, answer: Answer) -> list[str]:
    """Where an answer is otherwise than described."""
    template = template_of(document, method, path)
    responses = document["paths"][template][method.lower()]["responses"]
    status = answer.status
    said = responses.get(str(status)) or responses[f"{status // 100}XX"]
    return problems(
        document, said["content"]["application/json"]["schema"], answer.json
    )


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


ALL = "statistics=true&license=true&with_custom_attributes=true"
ASKED = """\
GET /version
GET /metadata
GET /user
GET /personal_access_tokens/self
GET /projects?$ALL
GET /projects?simple=true
GET /projects/1?$ALL
GET /projects/2?$ALL
GET /projects/99
PUT /projects/1 {"description": "x", "topics": ["a"]}
PUT /projects/1 {}
PUT /projects/1 {"path": "-"}
DELETE /projects/1
POST /projects {"name": "new"}
POST /projects/user/2 {"name": "n"}
GET /projects/1/users
GET /projects/1/groups?with_shared=true
GET /projects/1/share_locations
GET /projects/1/starrers
GET /projects/1/languages
GET /projects/2/import
GET /projects/1/forks
POST /projects/1/fork {"path": "again"}
POST /projects/1/fork
POST /projects/2/star
POST /projects/1/unstar
POST /projects/1/archive
POST /projects/1/unarchive
POST /projects/1/restore
PUT /projects/1/transfer {"namespace": "team"}
POST /projects/1/share {"group_id": 4}
POST /projects/2/share {"group_id": 4, "group_access": 30, "expires_at": "2099-01-01"}
POST /projects/2/import_project_members/1
GET /projects/1/custom_attributes
PUT /projects/1/custom_attributes/k {"value": "v"}
GET /users/root/projects
GET /users/1/starred_projects
GET /groups
GET /groups/docs%2Finner
GET /groups/docs/projects
GET /groups/docs/subgroups
GET /projects/1/wikis
GET /projects/1/wikis?with_content=true
GET /projects/1/wikis/home
GET /projects/1/wikis/home?render_html=true
GET /projects/1/wikis/none
POST /projects/1/wikis {"title": "t", "content": "c"}
POST /projects/1/wikis {"title": "home", "content": "c"}
PUT /projects/1/wikis/home {"content": "c"}
GET /groups/docs%2Finner/wikis
GET /groups/docs/members
POST /groups {"name": "n", "path": "n"}
POST /groups {"name": "n", "path": "docs"}
GET /users?username=writer
GET /users/2
GET /search?scope=wiki_blobs&search=x
GET /groups/docs/search?scope=wiki_blobs&search=x
GET /projects/1/search?scope=wiki_blobs&search=x
GET /projects/1/members
GET /projects/1/members/all
GET /projects/1/members/all/2
GET /projects/1/members/2
POST /projects/1/members {"username": "root", "access_level": 40}
PUT /projects/1/members/2 {"username": "root", "access_level": 40}
GET /projects/1/wiki_pages/1/notes
POST /projects/1/wiki_pages/1/notes {"body": "again"}
GET /projects/1/wiki_pages/1/notes/1
""".replace("$ALL", ALL)


async def test_answer_is_as_described(full: Api, document: Any) -> None:
    """What only reads comes first: a change may take away what is read."""
    for line in sorted(ASKED.splitlines(), key=lambda line: line[:3] != "GET"):
        method, path, *body = line.split(" ", 2)
        sent = {"json": json.loads(body[0])} if body else {}

        answer = await full(method, f"/api/v4{path}", **sent)

        assert problems_of(document, method, path, answer) == [], line


@pytest.mark.parametrize(
    "path", ["/projects/1/uploads", "/projects/1/wikis/attachments"]
)
async def test_upload_is_as_described(full: Api, document: Any, path: str) -> None:
    answer = await full.post(f"/api/v4{path}", data={"file": io.BytesIO(b"x")})

    assert answer.status == 201
    assert problems_of(document, "POST", path, answer) == []


@pytest.mark.parametrize("path", ["/projects", "/projects/1", "/users/1/projects"])
async def test_answer_to_a_stranger_is_as_described(
    full: Api, document: Any, path: str
) -> None:
    answer = await full.as_user(None).get(f"/api/v4{path}")

    assert answer.status == 200
    assert problems_of(document, "GET", path, answer) == []
