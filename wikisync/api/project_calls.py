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
from wikisync.api.endpoints import ROUTES, Endpoint
from wikisync.api.listing import Listing, OffsetLimit
from wikisync.api.parameters import parameters_of, replace_deprecated
from wikisync.api.project_schema import ProjectRecord
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
        path = ROUTES[endpoint].path(**segments)
        return Request("GET", path, purpose, query_of(values))

    def _writing(
        self,
        endpoint: Endpoint,
        purpose: Purpose,
        values: Also | None = None,
        *,
        progress: Progress | None = None,
        may_change_nothing: bool = False,
        **segments: Id,
    ) -> Request:
        """A request with a JSON body, or a multipart one where a file is in it."""
        route = ROUTES[endpoint]
        path = route.path(**segments)
        if route.method == "DELETE":
            return Request("DELETE", path, purpose, query_of(values or {}))
        for name, value in (values or {}).items():
            if isinstance(value, Path):
                rest = {
                    key: held for key, held in (values or {}).items() if key != name
                }
                return self._uploading(
                    Request(route.method, path, purpose),
                    name,
                    value,
                    "",
                    rest,
                    progress,
                )
        return Request(
            route.method,
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
        name: str,
        values: Also,
        progress: Progress | None,
    ) -> Request:
        """The request with a file and other values as its multipart body."""
        shown = name or (file.name if isinstance(file, Path) else field)
        fields = fields_of(values)
        return Request(
            request.method,
            request.path,
            request.purpose,
            form=upload_form(field, file, shown, fields, progress),
            form_fields=((field, shown), *fields),
        )

    def _listing(self, request: Request, kind: type[T], values: Also) -> Listing[T]:
        """A list that is paged and has no other way than by offset."""
        limit: OffsetLimit[T] = OffsetLimit(self.client.settings.offset_records_max)
        return Listing(
            self.client, request, kind, limit=limit, is_one_page="page" in values
        )

    def _project_listing(
        self, endpoint: Endpoint, purpose: Purpose, values: Also, **segments: Id
    ) -> Listing[ProjectRecord]:
        """A list of projects; by id it goes on where offset paging ends."""
        request = self._reading(endpoint, purpose, values, **segments)
        if (
            "pagination" not in parameters_of(endpoint)
            or values.get("order_by") != "id"
        ):
            return self._listing(request, ProjectRecord, values)
        bound = "id_after" if values.get("sort") == "asc" else "id_before"

        def after(project: ProjectRecord) -> str:
            return query_of({**values, "pagination": "keyset", bound: project.id})

        return Listing(
            self.client,
            request,
            ProjectRecord,
            limit=OffsetLimit(self.client.settings.offset_records_max, after),
            is_one_page="page" in values,
        )


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=CALLER)


def _successor(name: str) -> str:
    return f", use {name}" if name else " and goes away with API version 5"
