"""The client's half of the REST contract.

``contract`` has what it shares with the service; ``client`` holds the session with one,
``wikis`` has one method per wiki operation and ``projects`` one per operation on
projects; ``replica`` shows a wiki behind the client as a ``sync.replica.Replica``.

Below the client, each with one answer to give:  ``address`` (what is the service's
URL), ``request`` (what is asked), ``pool`` (one exchange), ``budget`` (when, and when
again), ``network`` and ``answers`` (what went wrong), ``listing`` (a whole list, part
by part), ``values`` (parameters, checked and written), ``upload`` (a file on its way),
``secret`` (the token, unprintable), ``settings`` (the limits).

Public is what ``__all__`` names, loaded when it is asked for, and ``blocking``
(``docs/python.md``); the modules may change with any version.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from wikisync.api.client import Client as Client
    from wikisync.api.listing import Listing as Listing
    from wikisync.api.projects import Deletion as Deletion
    from wikisync.api.projects import Projects as Projects
    from wikisync.api.projects import Toggle as Toggle
    from wikisync.api.settings import ClientSettings as ClientSettings
    from wikisync.api.wikis import PageList as PageList
    from wikisync.api.wikis import Wiki as Wiki
    from wikisync.contract.project_schema import ProjectRecord as ProjectRecord
    from wikisync.contract.schema import AttachmentRecord as AttachmentRecord
    from wikisync.contract.schema import CommentRecord as CommentRecord
    from wikisync.contract.schema import CurrentUserRecord as CurrentUserRecord
    from wikisync.contract.schema import GroupRecord as GroupRecord
    from wikisync.contract.schema import TokenRecord as TokenRecord
    from wikisync.contract.schema import UserRecord as UserRecord
    from wikisync.contract.schema import VersionRecord as VersionRecord
    from wikisync.contract.schema import WikiPageRecord as WikiPageRecord
    from wikisync.core.model import Format as Format
    from wikisync.core.model import WikiOwner as WikiOwner
    from wikisync.errors import AuthenticationFailed as AuthenticationFailed
    from wikisync.errors import NotFound as NotFound
    from wikisync.errors import PermissionDenied as PermissionDenied
    from wikisync.errors import ProtocolViolation as ProtocolViolation
    from wikisync.errors import RateLimited as RateLimited
    from wikisync.errors import Rejected as Rejected
    from wikisync.errors import RemoteError as RemoteError
    from wikisync.errors import Unavailable as Unavailable
    from wikisync.errors import UsageError as UsageError
    from wikisync.errors import WikisyncError as WikisyncError
    from wikisync.library import clone as clone

_FROM = {
    "wikisync.api.client": ["Client"],
    "wikisync.api.listing": ["Listing"],
    "wikisync.api.projects": ["Deletion", "Projects", "Toggle"],
    "wikisync.api.settings": ["ClientSettings"],
    "wikisync.api.wikis": ["PageList", "Wiki"],
    "wikisync.contract.project_schema": ["ProjectRecord"],
    "wikisync.contract.schema": [
        *("AttachmentRecord", "CommentRecord", "CurrentUserRecord", "GroupRecord"),
        *("TokenRecord", "UserRecord", "VersionRecord", "WikiPageRecord"),
    ],
    "wikisync.core.model": ["Format", "WikiOwner"],
    "wikisync.errors": [
        *("AuthenticationFailed", "NotFound", "PermissionDenied", "ProtocolViolation"),
        *("RateLimited", "Rejected", "RemoteError", "Unavailable", "UsageError"),
        "WikisyncError",
    ],
    "wikisync.library": ["clone"],
}
__all__ = [name for names in _FROM.values() for name in names]


if not TYPE_CHECKING:

    def __getattr__(name):  # noqa: ANN001, ANN202 - types would be an import
        """Load a public name."""
        import importlib

        for module, names in _FROM.items():
            if name in names:
                return getattr(importlib.import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
