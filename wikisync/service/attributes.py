"""Attributes of projects: what each is until someone sets it, and where it shows.

Pure.  ``attributes.toml`` is the table.  Names and types are those of
``contract.parameters``; attributes that lists ask for have a column of their own in the
records, all others are kept in one object, and only once they were set.
"""

from collections.abc import Mapping
from types import MappingProxyType

from wikisync.contract.parameters import project_attributes
from wikisync.core.packaged import packaged_toml

_TABLE = packaged_toml(__package__, "attributes.toml")
COLUMNS = frozenset(_TABLE["columns"])
"""Attributes with a column of the same name."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    view: tuple(names) for view, names in _TABLE["shown"].items()
}
"""Attributes in the views: ``levels`` and ``plain`` for everyone who sees the full
one, the others for who has the role."""
SWITCHES: Mapping[str, str] = _TABLE["switches"]
"""Old attributes that say whether a feature is on, and the level behind each."""

KEPT: frozenset[str] = frozenset(
    row.name
    for row in project_attributes()
    if row.name not in COLUMNS.union(_TABLE["acts"]) and not row.replaced_by
)
"""Attributes in the one object."""


def _default(name: str, type_: str) -> object:
    if name in _TABLE["defaults"]:
        return _TABLE["defaults"][name]
    if name.endswith("_access_level"):
        return "enabled"
    if type_ == "boolean":
        return name in _TABLE["on"]
    return None


DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        row.name: _default(row.name, row.type)
        for row in project_attributes()
        if row.name in KEPT
    }
)
"""What a kept attribute is until it is set."""


def all_attributes(stored: Mapping[str, object]) -> dict[str, object]:
    """Every kept attribute of a project."""
    return {**DEFAULTS, **stored}


def attribute_of(stored: Mapping[str, object], name: str) -> object:
    """One kept attribute of a project."""
    return stored[name] if name in stored else DEFAULTS[name]


def expiration_policy(
    stored: Mapping[str, object], created_at: str
) -> dict[str, object]:
    """The record's ``container_expiration_policy``."""
    given = stored.get("container_expiration_policy_attributes")
    policy = {"name_regex_keep": None, **_TABLE["expiration_policy"]} | dict(
        given if isinstance(given, Mapping) else {}
    )
    # the old name of the pattern still shows what it means
    policy["name_regex"] = policy["name_regex_delete"]
    return policy | {"next_run_at": created_at}
