"""What the operations on projects share: values checked, requests made.

Nothing is sent that the table of parameters does not know, unless it is given
as ``also``.  Old names are put into their present form with a
``DeprecationWarning`` that names both.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from wikisync.api.answers import About, Purpose
from wikisync.api.client import Client, Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.parameters import parameters_of, replace_deprecated
from wikisync.api.request import Request
from wikisync.api.upload import upload_form
from wikisync.api.values import check_values, fields_of, json_of, query_of
from wikisync.progress import Progress

T = TypeVar("T")

Also = Mapping[str, object]
"""Parameters newer than the table, by name; sent as they are."""

CALLER = 4
"""Stack level of who called the operation, seen from ``_warn``."""


class ProjectCalls:
    """The client's session, and how requests about projects are made on it."""

    def __init__(self, client: Client) -> None:
        """Use an open client; nothing is sent."""
        self.client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client!r})"

    def _values(
        self, endpoint: Endpoint, values: Mapping[str, object], also: Also | None
    ) -> dict[str, object]:
        """The values as they are sent.

        Raises:
            UsageError: the endpoint does not take them.
        """
        given = {name: value for name, value in values.items() if value is not None}
        known = parameters_of(endpoint)
        for name in given:
            if name in known and known[name].is_deprecated:
                _warn(f"{name} is deprecated{_successor(known[name].replaced_by)}")
        present, replaced = replace_deprecated(endpoint, given)
        for replacement in replaced:
            if "." in replacement.old:
                _warn(f"{replacement.old} is deprecated, use {replacement.new}")
        return check_values(endpoint, present, also)

    def _purpose(
        self,
        action: str,
        owner: Id = "",
        *,
        about: About = "project",
        others: str = "",
        is_write: bool = False,
    ) -> Purpose:
        return Purpose(
            action=action,
            about=about,
            owner_kind="project" if about == "project" else None,
            owner=str(owner),
            others=others,
            is_write=is_write,
            has_token=self.client.has_token,
        )

    def _reading(
        self, endpoint: Endpoint, purpose: Purpose, values: Also, **segments: Id
    ) -> Request:
        path = endpoint.route.path(**segments)
        return Request("GET", path, purpose, query_of(values))

    async def _read(
        self, endpoint: Endpoint, kind: type[T], action: str, project: Id, values: Also
    ) -> T:
        purpose = self._purpose(action, project)
        request = self._reading(endpoint, purpose, values, id=project)
        return await self.client.fetch(request, kind)

    def _writing(
        self,
        endpoint: Endpoint,
        action: str,
        values: Also | None = None,
        *,
        owner: Id = "",
        about: About = "project",
        others: str = "",
        may_change_nothing: bool = False,
        **segments: Id,
    ) -> Request:
        """A request with a JSON body, or a multipart one where a file is in it.

        The first of the segments names what is changed where ``owner`` does not.
        """
        owner = owner or next(iter(segments.values()), "")
        purpose = self._purpose(
            action, owner, about=about, others=others, is_write=True
        )
        method, path = endpoint.route.method, endpoint.route.path(**segments)
        values = values or {}
        if method == "DELETE":
            return Request(method, path, purpose, query_of(values))
        for name, value in values.items():
            if isinstance(value, Path):
                rest = {key: held for key, held in values.items() if key != name}
                request = Request(method, path, purpose)
                return self._uploading(request, name, value, values=rest)
        return Request(
            method,
            path,
            purpose,
            json=json_of(values) if values else None,
            may_change_nothing=may_change_nothing,
        )

    def _uploading(
        self,
        request: Request,
        field: str,
        file: Path | bytes,
        name: str = "",
        *,
        values: Also | None = None,
        progress: Progress | None = None,
    ) -> Request:
        """The request with a file and other values as its multipart body."""
        shown = name or (file.name if isinstance(file, Path) else field)
        fields = fields_of(values or {})
        return Request(
            request.method,
            request.path,
            request.purpose,
            form=upload_form(field, file, shown, fields, progress),
            form_fields=((field, shown), *fields),
        )


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=CALLER)


def _successor(name: str) -> str:
    return f", use {name}" if name else " and goes away with API version 5"
