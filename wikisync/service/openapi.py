"""The API as a document in OpenAPI 3.1, from the tables that the service runs by."""

import inspect
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from wikisync.contract import parameters
from wikisync.contract.routes import API_PREFIX, AnyEndpoint, Endpoint
from wikisync.contract.schema import ErrorRecord

Schema = dict[str, Any]


class NoJson(Enum):
    """Stands for an answer that is no JSON: a file's bytes, or no body."""

    FILE = "file"
    NOTHING = "nothing"


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
SEGMENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "id": ("string", "Number, or percent-encoded full path."),
        "user_id": ("string", "Number, or name."),
        "group_id": ("integer", "Number of the group."),
        "source_id": ("integer", "Number of the project whose members are taken."),
        "slug": ("string", "Percent-encoded slug of the page."),
        "page_id": ("integer", "The page's wiki_page_meta_id."),
        "note_id": ("integer", "Number of the comment."),
        "key": ("string", "Name of the attribute."),
        "secret": ("string", "The part of the address that cannot be guessed."),
        "file_name": ("string", "Name of the file."),
    }
)
"""Type and meaning of the parts of paths."""
_PAGING = (
    "X-Page",
    "X-Per-Page",
    "X-Next-Page",
    "X-Prev-Page",
    "X-Total",
    "X-Total-Pages",
    "Link",
)
_TYPES: Mapping[str, Schema] = MappingProxyType(
    {
        "boolean": {"type": "boolean"},
        "integer": {"type": "integer"},
        "string": {"type": "string"},
        "datetime": {"type": "string", "format": "date-time"},
        "date": {"type": "string", "format": "date"},
        "integers": {"type": "array", "items": {"type": "integer"}},
        "strings": {"type": "array", "items": {"type": "string"}},
        "hash": {"type": "object", "additionalProperties": {"type": "string"}},
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
    }
)
_SECURITY: Schema = {
    "token": {"type": "apiKey", "in": "header", "name": "PRIVATE-TOKEN"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
_ERRORS: Schema = {
    "description": "Refused.",
    "content": {JSON: {"schema": {"$ref": "#/components/schemas/ErrorRecord"}}},
}
_BUSY: Schema = _ERRORS | {"description": "Too much is asked at once; come again."}
_ADDRESS = re.compile(r"``[A-Z]+ [^`]*``[:;,.]?\s*")


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of the API."""

    endpoint: AnyEndpoint
    owner: str
    """``projects`` or ``groups``, where it is of both; else empty."""
    about: str
    """The docstring of what answers it."""
    answer: object
    """Type of the answer's JSON, or ``NoJson``."""
    status: int
    may_be_unchanged: bool
    is_free: bool
    """In the free edition."""

    @property
    def template(self) -> str:
        """Path below the prefix; ``{name}`` stands for a part of it."""
        return self.endpoint.template.replace("{owner}", self.owner)


def describe(operations: Sequence[Operation], url: str, version: str) -> bytes:
    """The document, as JSON."""
    types = [one.answer for one in operations if not isinstance(one.answer, NoJson)]
    answers, components = msgspec.json.schema_components(
        [*types, ErrorRecord],
        schema_hook=_any_value,
        ref_template="#/components/schemas/{name}",
    )
    for schema in components.values():
        _close(schema)
    paths: dict[str, Schema] = {}
    schemas = iter(answers)
    for one in operations:
        has_json = not isinstance(one.answer, NoJson)
        schema = next(schemas) if has_json else None
        path = paths.setdefault(one.template, {"parameters": _segments(one.template)})
        path[one.endpoint.method.lower()] = _operation(one, schema)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "wikisync serve", "version": version},
        "servers": [{"url": url + API_PREFIX}],
        "security": [{}, *({name: []} for name in _SECURITY)],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }
    return msgspec.json.encode(document)


def _any_value(kind: type) -> Schema:
    if kind is object:
        return {"description": "Of any kind."}  # msgspec takes an empty one for none
    raise NotImplementedError  # the answer that msgspec wants for "not my type"


def _close(schema: Schema) -> None:
    """Make of what a client expects what this service sends: nothing else."""
    schema["additionalProperties"] = False
    for name, field in schema["properties"].items():
        # a default is what the client takes for an absent field
        field.pop("default", None)
        for kind in [field, *field.get("anyOf", ())]:
            if name in _CHOICES and kind.get("type") == "string":
                kind["enum"] = list(_CHOICES[name])


def _choices() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in parameters.project_attributes():
        if row.choices:
            known = found.get(row.name, ())
            found[row.name] = tuple(dict.fromkeys((*known, *row.choices)))
    return found


_CHOICES = _choices()
"""Attribute of a project to the values that it can be set to."""


def _segments(template: str) -> list[Schema]:
    found = []
    for name in re.findall(r"\{(\w+)\}", template):
        kind, about = SEGMENTS[name]
        schema: Schema = {"type": kind}
        if kind == "string":
            schema["minLength"] = 1
        found.append(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": about,
                "schema": schema,
            }
        )
    return found


def _operation(one: Operation, schema: Schema | None) -> Schema:
    name = f"{one.owner}_{one.endpoint}".lstrip("_")
    described: Schema = {
        "operationId": name,
        "summary": name.replace("_", " ").capitalize(),
        "description": _description(one.about),
        "responses": _responses(one, schema),
    }
    rows = tuple(parameters.parameters_of(one.endpoint, is_free=one.is_free).values())
    if one.endpoint.method in {"GET", "DELETE"}:
        described["parameters"] = [_in_query(row) for row in rows]
    elif rows:
        described["requestBody"] = _body(one.endpoint, rows)
    return described


def _description(docstring: str) -> str:
    first = inspect.cleandoc(docstring).partition("\n\n")[0]
    text = " ".join(_ADDRESS.sub("", first).split()).replace("``", "")
    return text[:1].upper() + text[1:]


def _responses(one: Operation, schema: Schema | None) -> Schema:
    success: Schema = {"description": "Done."}
    if schema is not None:
        success["content"] = {JSON: {"schema": schema}}
    elif one.answer is NoJson.FILE:
        success["content"] = {"*/*": {"schema": {}}}
    if "per_page" in parameters.parameters_of(one.endpoint):
        text = {"schema": {"type": "string"}}
        success["headers"] = dict.fromkeys(_PAGING, text)
    responses: Schema = {str(one.status): success, "4XX": _ERRORS, "503": _BUSY}
    if one.may_be_unchanged:
        responses["304"] = {"description": "Nothing changed."}
    if one.endpoint.method == "GET" and "{id}" in one.template:
        headers = {"Location": {"required": True, "schema": {"type": "string"}}}
        responses["301"] = {
            "description": "The project has another path now.",
            "headers": headers,
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    return responses


def _in_query(row: parameters.Parameter) -> Schema:
    is_array = row.type in {"integers", "strings"}
    found: Schema = {
        "name": f"{row.name}[]" if is_array else row.name,
        "in": "query",
        "required": row.is_required,
        "deprecated": row.is_deprecated,
        "schema": _schema(row),
        "description": _about(row),
    }
    if row.type == "hash":
        found["style"] = "deepObject"
    return found


def _body(endpoint: AnyEndpoint, rows: tuple[parameters.Parameter, ...]) -> Schema:
    files = {row.name for row in rows if row.type == "file"}
    required = [row.name for row in rows if row.is_required]
    schema: Schema = {
        "type": "object",
        "properties": {
            row.name: _schema(row)
            | {"description": _about(row), "deprecated": row.is_deprecated}
            for row in rows
        },
        "required": required,
    }
    rules = parameters.rules_of(endpoint)
    if rules.one_of:
        schema["anyOf"] = [{"required": [name]} for name in rules.one_of]
    if endpoint is Endpoint.EDIT:
        schema["minProperties"] = 1
    if rules.exclusive:
        schema["allOf"] = [
            {"not": {"required": [one, other]}}
            for names in rules.exclusive
            for at, one in enumerate(names)
            for other in names[at + 1 :]
        ]
    kinds = [MULTIPART] if files & {*required} else [JSON, FORM, MULTIPART]
    contents = {}
    for kind in kinds:
        held = dict(schema["properties"])
        if kind != MULTIPART:
            held = {name: one for name, one in held.items() if name not in files}
        contents[kind] = {"schema": schema | {"properties": held}}
    is_required = bool(required or rules.one_of) or endpoint is Endpoint.EDIT
    return {"required": is_required, "content": contents}


def _schema(row: parameters.Parameter) -> Schema:
    schema = dict(_TYPES[row.type])
    if row.choices:
        is_number = row.type == "integer"
        schema["enum"] = [int(one) if is_number else one for one in row.choices]
    if row.minimum is not None:
        schema["minimum"] = row.minimum
    if row.keys:
        schema["properties"] = {key.name: _schema(key) for key in row.keys}
        schema["additionalProperties"] = False
    return schema


def _about(row: parameters.Parameter) -> str:
    words = [row.help]
    if row.role != "anyone":
        words.append(f"For {row.role}s.")
    if row.tier != "free":
        words.append(f"{row.tier.capitalize()}.")
    if row.default:
        words.append(f"Default: {row.default}.")
    return " ".join(words)
