"""Records of the REST API: JSON to typed values and back.  Pure.

The client decodes with these and the service encodes with them.  Unknown keys are
ignored and absent ones survive (``docs/service.md`` "Records"): every field but a
record's identity has a default.  An address with any other scheme than those of web
pages and of git is taken for absent, so that nothing written from a record can run.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import ClassVar

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.origin import web_address

_SSH = re.compile(r"(?:ssh://)?[\w.+-]+@[\w.-]+(?::|/)[\w./~:-]*", re.ASCII)
_HOST_OR_SCHEME = re.compile(r"[^/?#]*:|[/\\]{2}")


_SENT = "_sent_json"
_ATTRIBUTES = json_decoder(dict[str, object])


class AnsweredRecord(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A record that remembers the answer it was made from; equal if the fields are."""

    @property
    def sent(self) -> dict[str, object]:
        """Every attribute as sent, unchecked; null and unknown ones, too."""
        body: bytes = self.__dict__.get(_SENT, b"{}")
        return _ATTRIBUTES.decode(body)

    def keep_sent(self, body: bytes) -> None:
        """Note the JSON that the record was decoded from."""
        self.__dict__[_SENT] = body


class AddressedRecord(AnsweredRecord, frozen=True, kw_only=True):
    """A record with addresses, each checked when the record is made."""

    is_all_addresses: ClassVar[bool] = False
    """Whether every field is one, not only those that are called so."""

    def __post_init__(self) -> None:
        """Take an address that may not be written for absent."""
        for name, check, absent in _address_checks(type(self)):
            given = getattr(self, name)
            if given and not check(given):
                msgspec.structs.force_setattr(self, name, absent)


_Check = tuple[str, Callable[[str], object], object]


@cache
def _address_checks(kind: type[AddressedRecord]) -> tuple[_Check, ...]:
    """The addresses of a record: field, check, and what stands for an absent one."""
    checks: list[_Check] = []
    particular: dict[str, Callable[[str], object]]
    particular = {"ssh_url_to_repo": _SSH.fullmatch, "url": _is_path}
    for field in msgspec.structs.fields(kind):
        is_address = field.name.endswith(("_url", "_to_repo"))
        if field.name in particular or is_address or kind.is_all_addresses:
            check = particular.get(field.name, web_address)
            absent = "" if field.required else field.default
            checks.append((field.name, check, absent))
    return tuple(checks)


def _is_path(address: str) -> bool:
    is_path = address.isprintable() and not _HOST_OR_SCHEME.match(address)
    return is_path or bool(web_address(address))


class WikiPageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A wiki page as listed, read, created or edited."""

    slug: str
    format: str = "markdown"
    title: str | None = ""
    """For display; some services have none of it."""
    content: str | None = None
    """Absent from a list without ``with_content``."""
    encoding: str | None = None
    front_matter: dict[str, object] | None = None
    wiki_page_meta_id: int | None = None


class AttachmentLink(AddressedRecord, frozen=True, kw_only=True):
    """Where an uploaded file is, and how a page mentions it."""

    url: str
    markdown: str = ""


class AttachmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an upload into a wiki."""

    file_name: str
    file_path: str
    branch: str = ""
    link: AttachmentLink | None = None


class AddressRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Of a project or group no more than who it is, and where."""

    id: int
    path_with_namespace: str = ""
    """Of a project."""
    full_path: str = ""
    """Of a group."""
    created_at: str | None = None
    """A time; another one under the same id is of a service that was set up anew."""
    marked_for_deletion_on: str | None = None
    """The day; the service removes it after a delay of its own."""

    @property
    def path(self) -> str:
        """The full path of either."""
        return self.path_with_namespace or self.full_path


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``GET /version``."""

    version: str
    revision: str = ""


class UserRecord(AddressedRecord, frozen=True, kw_only=True):
    """A user, as others see it."""

    id: int
    username: str
    name: str = ""
    state: str = "active"
    avatar_url: str | None = None
    web_url: str = ""


class BlobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file in which a search found something."""

    path: str
    basename: str = ""
    """The path without its extension."""
    data: str = ""
    """The lines."""
    filename: str = ""
    """Deprecated: ``path``."""
    id: str | None = None
    ref: str = ""
    startline: int = 1
    """Number of the first line in ``data``."""
    project_id: int | None = None
    group_id: int | None = None
    """Of the group whose wiki it is."""


class CommentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a wiki page, which the API calls a note."""

    id: int
    type: str | None = None
    body: str = ""
    """Markdown."""
    author: UserRecord | None = None
    """None where the user is gone."""
    created_at: str | None = None
    updated_at: str | None = None
    system: bool = False
    """Whether the service wrote it, of a change."""
    noteable_id: int | None = None
    """``wiki_page_meta_id`` of the page."""
    noteable_type: str = ""
    noteable_iid: int | None = None
    project_id: int | None = None
    attachment: str | None = None
    resolvable: bool = False
    internal: bool = False
    """Only for members from the role Reporter on: never for a public copy."""
    confidential: bool = False
    """The older name of ``internal``."""


class CurrentUserRecord(UserRecord, frozen=True, kw_only=True):
    """``GET /user``: a user, as it sees itself."""

    created_at: str | None = None
    email: str | None = None
    bot: bool = False
    is_admin: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent to administrators only."""


class KasRecord(AddressedRecord, frozen=True, kw_only=True, rename="camel"):
    """The server of agents that a service may have."""

    enabled: bool = False
    external_url: str | None = None
    version: str | None = None


class MetadataRecord(VersionRecord, frozen=True, kw_only=True):
    """``GET /metadata``."""

    kas: KasRecord = KasRecord()
    enterprise: bool = False


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An answer in a few words."""

    message: str


class ErrorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal, in one of the service's shapes."""

    message: str | tuple[str, ...] | dict[str, object] | None = None
    """A sentence, several, or sentences by field."""
    error: str | tuple[str, ...] | None = None
    """Of parameters that do not validate, of unknown addresses, and of tokens."""
    error_description: str | None = None
    scope: str | None = None
    """The scopes that would reach far enough."""


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``GET /personal_access_tokens/self``."""

    id: int
    name: str = ""
    scopes: tuple[str, ...] = ()
    user_id: int | None = None
    active: bool = True
    revoked: bool = False
    created_at: str | None = None
    last_used_at: str | None = None
    expires_at: str | None = None


class NamespaceRecord(AddressedRecord, frozen=True, kw_only=True):
    """The group or user that a project belongs to."""

    id: int
    name: str = ""
    path: str = ""
    kind: str = "group"
    full_path: str = ""
    parent_id: int | None = None
    avatar_url: str | None = None
    web_url: str | None = None


class GroupRecord(AddressedRecord, frozen=True, kw_only=True):
    """A group, as far as wikis need it."""

    id: int
    full_path: str
    name: str = ""
    full_name: str = ""
    path: str = ""
    description: str | None = None
    web_url: str = ""
    avatar_url: str | None = None
    visibility: str | None = None
    parent_id: int | None = None
    wiki_access_level: str | None = None
    created_at: str | None = None


class SimpleProject(AddressedRecord, frozen=True, kw_only=True):
    """The simple view: ``simple=true``, and all that anonymous callers see."""

    id: int
    path_with_namespace: str
    name: str = ""
    name_with_namespace: str = ""
    path: str = ""
    description: str | None = None
    web_url: str = ""
    created_at: str | None = None
    default_branch: str | None = None
    topics: tuple[str, ...] | None = None
    tag_list: tuple[str, ...] | None = None
    """Deprecated: ``topics``."""
    ssh_url_to_repo: str | None = None
    http_url_to_repo: str | None = None
    readme_url: str | None = None
    avatar_url: str | None = None
    star_count: int | None = None
    forks_count: int | None = None
    last_activity_at: str | None = None
    visibility: str | None = None
    """Absent from the simple view of older services."""
    namespace: NamespaceRecord | None = None
