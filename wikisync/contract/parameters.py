"""Every parameter of the API, for client, command line and service alike.  Pure.

``operations.toml`` is the table; segments of the path belong to ``contract.routes``.
Old names that the service still takes are parameters of their own and lead to the new
ones, values included, through ``replace_deprecated``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, convert, field
from msgspec.structs import force_setattr

from wikisync.contract.routes import AnyEndpoint, Endpoint
from wikisync.core.packaged import packaged_toml

Role = Literal["anyone", "reporter", "owner", "admin"]
Tier = Literal["free", "premium", "ultimate"]

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
    help: str = ""
    """One line for people; a name that another replaced says so by itself."""
    choices: tuple[str, ...] = ()
    """Every value allowed, as written in a query; empty for any of the type."""
    minimum: int | None = None
    """Of a number; None for any."""
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
    """New name of a deprecated one; empty when nothing here replaces it."""
    is_inverted: bool = False
    """Whether the new name means the opposite."""
    keys: tuple[Parameter, ...] = ()
    """Of a hash: what it may hold."""

    def __post_init__(self) -> None:
        """Say of a name that another replaced that it is an old one."""
        if self.replaced_by:
            force_setattr(self, "is_deprecated", True)
            force_setattr(self, "help", self.help or f"Old form of {self.replaced_by}.")


class Rules(Struct, frozen=True):
    """What one endpoint takes."""

    takes: tuple[str, ...] = ()
    """Groups of parameters; a later group replaces a parameter of an earlier one."""
    one_of: tuple[str, ...] = ()
    """Parameters of which it demands at least one."""
    exclusive: tuple[tuple[str, ...], ...] = ()
    """Parameters of which it takes one at most."""


_TABLE = packaged_toml(__package__, "operations.toml")


@cache
def rules_of(endpoint: AnyEndpoint) -> Rules:
    """What an endpoint demands of its parameters together."""
    return convert(_TABLE["operations"].get(endpoint.value, {}), Rules)


@cache
def parameters_of(
    endpoint: AnyEndpoint, *, is_free: bool = False
) -> Mapping[str, Parameter]:
    """What an endpoint accepts (in the free edition), by name, as in the table."""
    if is_free:
        every = parameters_of(endpoint)
        free = {name: row for name, row in every.items() if row.tier == "free"}
        return MappingProxyType(free)
    rows: dict[str, Parameter] = {}
    for group in rules_of(endpoint).takes:
        rows |= {
            row: convert({"name": row, **facts}, Parameter)
            for row, facts in _TABLE["groups"][group].items()
        }
    return MappingProxyType(rows)


@cache
def project_attributes() -> tuple[Parameter, ...]:
    """Attributes of a project on create and edit, one for each way to take it."""
    found: list[Parameter] = []
    for endpoint in (Endpoint.CREATE, Endpoint.CREATE_FOR_USER, Endpoint.EDIT):
        found += [row for row in parameters_of(endpoint).values() if row not in found]
    return tuple(found)


def replace_deprecated(
    endpoint: Endpoint, values: Mapping[str, object]
) -> dict[str, object]:
    """The typed values under their present names.

    Where both an old and its new name are given, the new one wins.  Names that the
    endpoint does not know stay as they are.
    """
    known = parameters_of(endpoint)
    kept: dict[str, object] = {}
    late: dict[str, object] = {}
    for name, value in values.items():
        parameter = known.get(name)
        if parameter is not None and parameter.replaced_by:
            new, new_value = _present_form(parameter, value)
            late.setdefault(new, new_value)
        elif parameter is not None and parameter.keys and isinstance(value, Mapping):
            new_names = {key.name: key.replaced_by for key in parameter.keys}
            inner = {k: held for k, held in value.items() if not new_names.get(k)}
            old = {new_names[k]: held for k, held in value.items() if new_names.get(k)}
            kept[name] = {**old, **inner}
        else:
            kept[name] = value
    return {**late, **kept}


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
