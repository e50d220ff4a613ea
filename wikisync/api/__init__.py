"""The client's half of the REST contract.

``client`` holds the session with a service, ``wikis`` has one method per wiki operation
and ``projects`` one per operation on projects; ``replica`` shows a wiki behind the
client as a ``sync.replica.Replica``.

Public is what ``__all__`` names, loaded when it is asked for, and ``blocking``
(``docs/python.md``).  Type checkers read the stub that ``make stubs`` writes.
"""

PUBLIC = {
    "wikisync.api.client": ["Client", "Listing"],
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
__all__ = [name for names in PUBLIC.values() for name in names]


def __getattr__(name):  # noqa: ANN001, ANN202 - types would be an import
    """Load a public name."""
    import importlib

    for module, names in PUBLIC.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
