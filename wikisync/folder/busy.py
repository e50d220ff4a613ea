"""What editors leave beside a file while they have it open or save it.  Pure."""

import re

BACKUP_S = 60.0
"""An older backup means nothing: some editors always leave one."""

WRITE_TEST = "4913"
"""The file with which vim sees whether it may write in a folder."""

_LOCKS = (
    r"\.\#(?P<name>.+)",  # emacs
    r"\.~lock\.(?P<name>.+)\#",  # LibreOffice
    r"~\$(?P<name>.+)",  # office programs
    r"\.(?P<name>.+)\.sw[a-z]",  # vim
)
_LOCKS_BEGIN = (".", "~")
_BACKUPS = (
    r"(?P<name>[^\#].*)~",
    r"\#(?P<name>.+)\#",  # emacs's auto-save
)


def locked_name(name: str) -> str | None:
    """The file in the same folder that this lock file says is open in an editor."""
    return _first(_LOCKS, name) if name[:1] in _LOCKS_BEGIN else None


def backed_up_name(name: str) -> str | None:
    """The file in the same folder that this is a backup of."""
    return _first(_BACKUPS, name)


def _first(patterns: tuple[str, ...], name: str) -> str | None:
    for pattern in patterns:
        if found := re.fullmatch(pattern, name, re.DOTALL):
            return found["name"]
    return None
