"""Whose ``wikisync.toml`` is obeyed: a configuration names commands that are run.

The rule is git's for repositories (``safe.directory``): the file, a link that leads
to it, its folder and the ``.wikisync`` beside it belong to this user, or to root, who
can do everything anyway.  To root, files of the person who called ``sudo`` are their
own, too.  A file that everyone may write is obeyed from nobody; one that a group
may write is, as members of a group are trusted by who made it so.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from wikisync.errors import ConfigError
from wikisync.layout import PRIVATE_FOLDER

SAFE_VARIABLE = "WIKISYNC_SAFE_FOLDERS"
"""Environment variable: workspaces of others to obey, with ``:`` between; ``*`` all."""


def refuse_foreign(
    path: Path, status: os.stat_result, environment: Mapping[str, str]
) -> None:
    """See that a configuration is this user's, or one that they allowed.

    Args:
        path: the file.
        status: of the file as it was opened.
        environment: may allow folders (``SAFE_VARIABLE``) and name who called sudo.

    Raises:
        ConfigError: somebody else's, or everyone's; the hint says how to allow it.
        OSError: the folder cannot be read.
    """
    own = _own_users(environment)
    for owned, user in _owners(path, status):
        if user not in own and not _is_safe(path.parent, environment):
            raise ConfigError(
                f"{owned} belongs to {_name(user)}, and {path.name} may name commands"
                " to run",
                hint=f"if you trust them, run: {_command(path.parent, environment)}",
            )
    if status.st_mode & stat.S_IWOTH and not _is_safe(path.parent, environment):
        raise ConfigError(
            f"everyone on this machine may write {path}, and it may name commands to"
            " run",
            hint=f"see what it says, then run: chmod o-w {shlex.quote(str(path))}; on a"
            " disk without permissions, like exFAT, run:"
            f" {_command(path.parent, environment)}",
        )


def _own_users(environment: Mapping[str, str]) -> frozenset[int]:
    user, called_by = os.geteuid(), environment.get("SUDO_UID", "")
    if user == 0 and called_by.isascii() and called_by.isdigit():
        return frozenset({user, int(called_by)})
    return frozenset({user, 0})


def _owners(path: Path, status: os.stat_result) -> Iterator[tuple[Path, int]]:
    """Everything that decides on what the file says, and whose it is."""
    yield path, status.st_uid
    yield path, path.lstat().st_uid
    yield path.parent, path.parent.stat().st_uid
    private = path.parent / PRIVATE_FOLDER
    try:
        yield private, private.lstat().st_uid
        yield private, private.stat().st_uid
    except FileNotFoundError:
        return


def _is_safe(folder: Path, environment: Mapping[str, str]) -> bool:
    named = [one for one in environment.get(SAFE_VARIABLE, "").split(os.pathsep) if one]
    return "*" in named or folder.resolve() in {
        Path(one).resolve() for one in named if Path(one).is_absolute()
    }


def _name(user: int) -> str:
    import pwd

    try:
        return f"the user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"another user (uid {user})"


def _command(folder: Path, environment: Mapping[str, str]) -> str:
    before = f"${SAFE_VARIABLE}:" if environment.get(SAFE_VARIABLE) else ""
    quoted = shlex.quote(str(folder.resolve()))
    return f"export {SAFE_VARIABLE}={before}{quoted}"
