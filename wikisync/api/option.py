"""What an annotation of a keyword argument says beside its type.

Pure.  The classes of keyword arguments (``list_options``, ``project_options`` and
``wiki_options``) are the one table of parameters: an annotation names the type and,
as a text or as an ``Option``, what people are told.  ``api.parameters`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Role = Literal["anyone", "reporter", "owner", "admin"]
Tier = Literal["free", "premium", "ultimate"]


class Option(Struct, frozen=True):
    """One parameter's facts that its type does not say."""

    help: str
    """One line for people."""
    choices: tuple[str, ...] = ()
    """Every value allowed, where its type is wider."""
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


def old_form(of: str) -> Option:
    """A name that the service still takes for another one."""
    return Option(f"Old form of {of}.", replaced_by=of)
