"""Every parameter of the API, for client, command line and service alike.

Pure.  The classes of keyword arguments are the table: one annotation says what a
parameter is called, what values it takes and what it is for; the class tells the
endpoints that accept it.  ``parameters_of`` gives one endpoint's.  Segments of the path
(``id``, ``user_id``, ``group_id``) belong to ``api.routes`` and are not in here.
Old names that the service still takes are parameters of their own and lead to the
new ones, values included, through ``replace_deprecated``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct, field

from wikisync.api import list_options as lists
from wikisync.api import project_options as projects
from wikisync.api import wiki_options as wikis
from wikisync.api.endpoints import ROUTES, AnyEndpoint, Endpoint, OtherEndpoint
from wikisync.api.option import Option, Role, Tier

ParameterType = Literal[
    "boolean",
    "integer",
    "string",
    "datetime",
    "date",
    "integers",
    "strings",
    "hash",
    "file",
]
"""``integers`` and ``strings`` are arrays; ``hash`` has named ``keys``; a
``datetime`` is ISO 8601, a ``date`` is ``YYYY-MM-DD``."""

ID_CHARS_MAX = 18
"""Longer numbers are no ids."""


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter of one endpoint."""

    name: str
    type: ParameterType
    help: str
    """One line for people."""
    choices: tuple[str, ...] = ()
    """Every value allowed, as written in a query; empty for any of the type."""
    default: str = ""
    """What the service takes when it is not sent; empty for nothing."""
    is_required: bool = False
    role: Role = "anyone"
    """Least role that the service listens to; it ignores the others."""
    choice_roles: Mapping[str, Role] = field(default_factory=dict)
    """Choices that only some may use."""
    tier: Tier = "free"
    since: str = ""
    """Version of the service that brought it."""
    is_deprecated: bool = False
    replaced_by: str = ""
    """New name of a deprecated one; empty when nothing here takes its place."""
    is_inverted: bool = False
    """Whether the new name means the opposite."""
    keys: tuple[Parameter, ...] = ()
    """Of a hash: what it may hold."""
    is_filter: bool = False
    """Whether it narrows, orders or pages a list or a look, and goes into the
    query."""


_TAKES: Mapping[AnyEndpoint, type] = MappingProxyType(
    {
        Endpoint.LIST: lists.ProjectFilters,
        Endpoint.USER_LIST: lists.UserFilters,
        Endpoint.CONTRIBUTED_LIST: lists.ContributedFilters,
        Endpoint.STARRED_LIST: lists.StarredFilters,
        Endpoint.FORK_LIST: lists.ForkFilters,
        Endpoint.SHOW: lists.ShowOptions,
        Endpoint.USERS: lists.MemberFilters,
        Endpoint.GROUPS: lists.GroupFilters,
        Endpoint.SHARE_LOCATIONS: lists.ShareLocationFilters,
        Endpoint.STARRERS: lists.StarrerFilters,
        Endpoint.CREATE: projects.CreateAttributes,
        Endpoint.CREATE_FOR_USER: projects.CreateForUserAttributes,
        Endpoint.EDIT: projects.EditAttributes,
        Endpoint.FORK: projects.ForkAttributes,
        Endpoint.DELETE: projects.DeleteOptions,
        Endpoint.SHARE: projects.ShareOptions,
        Endpoint.UPLOAD: projects.UploadOptions,
        OtherEndpoint.PAGES: wikis.PageListOptions,
        OtherEndpoint.PAGE: wikis.PageOptions,
        OtherEndpoint.PAGE_CREATE: wikis.PageCreateOptions,
        OtherEndpoint.PAGE_EDIT: wikis.PageEditOptions,
        OtherEndpoint.ATTACHMENT: wikis.AttachmentOptions,
        OtherEndpoint.GROUPS: lists.NameFilters,
        OtherEndpoint.SUBGROUPS: lists.NameFilters,
        OtherEndpoint.DESCENDANT_GROUPS: lists.NameFilters,
        OtherEndpoint.GROUP_PROJECTS: lists.GroupProjectFilters,
        OtherEndpoint.MEMBERS: lists.Paging,
        OtherEndpoint.BRANCHES: lists.NameFilters,
        OtherEndpoint.EVENTS: lists.EventFilters,
        OtherEndpoint.ISSUES: lists.Paging,
        OtherEndpoint.MERGE_REQUESTS: lists.Paging,
        OtherEndpoint.LABELS: lists.Paging,
        OtherEndpoint.CLUSTER_AGENTS: lists.Paging,
        OtherEndpoint.TRANSFER: projects.TransferOptions,
        OtherEndpoint.SET_CUSTOM_ATTRIBUTE: projects.CustomAttributeOptions,
    }
)
"""What each endpoint takes; those that are not in here take nothing."""

_TYPES: Mapping[object, ParameterType] = MappingProxyType(
    {
        bool: "boolean",
        int: "integer",
        str: "string",
        int | str: "string",
        str | datetime: "datetime",
        str | date: "date",
        list[int] | tuple[int, ...]: "integers",
        list[str] | tuple[str, ...]: "strings",
        Mapping[str, str]: "hash",
        Path | Literal[""]: "file",
    }
)

ONE_OF: Mapping[AnyEndpoint, tuple[str, ...]] = MappingProxyType(
    {
        Endpoint.CREATE: ("name", "path"),
        OtherEndpoint.PAGE_EDIT: ("content", "title", "format"),
    }
)
"""Endpoints that demand at least one of some parameters."""

EXCLUSIVE: Mapping[AnyEndpoint, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        Endpoint.CREATE: (("import_url", "template_name", "template_project_id"),),
        Endpoint.CREATE_FOR_USER: (("import_url", "template_name"),),
    }
)
"""Parameters of which an endpoint takes one at most."""


@cache
def parameters_of(
    endpoint: AnyEndpoint, *, is_free: bool = False
) -> Mapping[str, Parameter]:
    """What an endpoint accepts, by name, in the order of the table.

    Args:
        endpoint: which one.
        is_free: in the free edition, which knows nothing of the paid ones' parameters.
    """
    if is_free:
        every = parameters_of(endpoint)
        free = {name: row for name, row in every.items() if row.tier == "free"}
        return MappingProxyType(free)
    if endpoint not in _TAKES:
        return MappingProxyType({})
    is_filter = ROUTES[endpoint].method == "GET"
    rows = _rows_of(_TAKES[endpoint], is_filter=is_filter)
    return MappingProxyType({row.name: row for row in rows})


@cache
def project_attributes() -> tuple[Parameter, ...]:
    """Attributes of a project on create and edit, one for each way to take it."""
    found: list[Parameter] = []
    for endpoint in (Endpoint.CREATE, Endpoint.CREATE_FOR_USER, Endpoint.EDIT):
        found += [row for row in parameters_of(endpoint).values() if row not in found]
    return tuple(found)


def _rows_of(takes: type, *, is_filter: bool = False) -> tuple[Parameter, ...]:
    hints = get_type_hints(takes, include_extras=True)
    return tuple(_row(name, hint, is_filter) for name, hint in hints.items())


def _row(name: str, hint: Any, is_filter: bool) -> Parameter:
    kind, note = get_args(hint)
    option = note if isinstance(note, Option) else Option(note)
    choices = tuple(str(choice) for choice in option.choices)
    keys: tuple[Parameter, ...] = ()
    type_: ParameterType
    if get_origin(kind) is Literal:
        type_, choices = "string", get_args(kind)
    elif is_typeddict(kind):
        type_, keys = "hash", _rows_of(kind)
    else:
        type_ = _TYPES[kind]
    return Parameter(
        name=name,
        type=type_,
        help=option.help,
        choices=choices,
        default=option.default,
        is_required=option.is_required,
        role=option.role,
        choice_roles=option.choice_roles,
        tier=option.tier,
        since=option.since,
        is_deprecated=option.is_deprecated or bool(option.replaced_by),
        replaced_by=option.replaced_by,
        is_inverted=option.is_inverted,
        keys=keys,
        is_filter=is_filter,
    )


class Replacement(Struct, frozen=True):
    """A deprecated parameter that was put into its new form."""

    old: str
    new: str


def replace_deprecated(
    endpoint: Endpoint, values: Mapping[str, object]
) -> tuple[dict[str, object], tuple[Replacement, ...]]:
    """The values under their present names.

    Where both an old and its new name are given, the new one wins.  Names that
    the endpoint does not know stay as they are.

    Args:
        endpoint: what the values are for.
        values: typed values: ``bool`` for a boolean, a mapping for a hash.

    Returns:
        The values to send, and what was replaced, for a warning each.
    """
    known = parameters_of(endpoint)
    kept: dict[str, object] = {}
    late: list[tuple[str, object]] = []
    replaced: list[Replacement] = []
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is None or not parameter.replaced_by:
            kept[name] = value
            if parameter is not None and parameter.keys and isinstance(value, Mapping):
                kept[name], inner = _replace_keys(parameter, value)
                replaced += inner
            continue
        new, new_value = _present_form(parameter, value)
        late.append((new, new_value))
        replaced.append(Replacement(name, new))
    for name, value in late:
        kept.setdefault(name, value)
    return kept, tuple(replaced)


def _replace_keys(
    parameter: Parameter, value: Mapping[str, object]
) -> tuple[dict[str, object], list[Replacement]]:
    new_names = {key.name: key.replaced_by for key in parameter.keys}
    kept = {name: held for name, held in value.items() if not new_names.get(name)}
    replaced: list[Replacement] = []
    for name, held in value.items():
        if new := new_names.get(name):
            kept.setdefault(new, held)
            replaced.append(
                Replacement(f"{parameter.name}.{name}", f"{parameter.name}.{new}")
            )
    return kept, replaced


def _present_form(parameter: Parameter, value: object) -> tuple[str, object]:
    new = parameter.replaced_by
    if parameter.is_inverted:
        return new, None if value is None else not value
    if new.endswith("_access_level"):
        return new, None if value is None else "enabled" if value else "disabled"
    text = str(value)
    is_number = text.isascii() and text.isdigit() and len(text) <= ID_CHARS_MAX
    if parameter.name == "namespace" and is_number:
        return "namespace_id", int(text)
    return new, value
