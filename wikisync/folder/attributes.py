"""Whose a written file is, and what else it has besides its text.

A file that replaces another one keeps owner, group, mode, access list and extended
attributes.  A new one gets what its folder gives, and from root the folder's owner, so
that a person can edit what a system service wrote.  Where owner or group would lose
access, nothing is written: writing into the old file instead could leave it half.
"""

import grp
import os
import pwd
import stat
import struct
from collections.abc import Callable
from contextlib import suppress

from wikisync.core.system.libc import copy_attributes
from wikisync.errors import FolderError

_ACCESS = "system.posix_acl_access"
_DEFAULT = "system.posix_acl_default"
_LABEL = "security.selinux"
_VERSION_BYTES = 4
_ENTRY = struct.Struct("<HHI")
"""Of an access list: tag, rights, and for whom where the tag does not say so."""
_OWNER, _GROUP, _MASK, _OTHERS = 0x01, 0x04, 0x10, 0x20
_READ_AND_WRITE = 0o6


def keep_attributes(old: int, new: int, path: str, *, mode_max: int) -> None:
    """Give an open file what the one has that it is to replace, at most ``mode_max``.

    ``FolderError`` where owner or group would lose access, ``OSError`` of the disk.
    """
    was = os.fstat(old)
    _keep_owner(was, new, path)
    if hasattr(os, "listxattr"):
        _copy_extended(old, new)
    else:
        copy_attributes(old, new)
    # last: an access list sets the mode of the group, and the mode narrows the list
    os.fchmod(new, stat.S_IMODE(was.st_mode) & mode_max)


def inherit_owner(folder: int, new: int) -> None:
    """Give what is new the folder's group where it says so; from root its owner, too.

    What the system refuses stays as it is.
    """
    above, now = os.fstat(folder), os.fstat(new)
    uid, gid = now.st_uid, now.st_gid
    if above.st_mode & stat.S_ISGID:
        gid = above.st_gid
    if os.geteuid() == 0 != above.st_uid:
        uid, gid = above.st_uid, above.st_gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        with suppress(OSError):
            os.fchown(new, uid, gid)


def inherit_access(folder: int, new: int) -> None:
    """Give a file that is new in an open folder the access list of new files there."""
    try:
        default = os.getxattr(folder, _DEFAULT)
    except (AttributeError, OSError):
        return
    entries = list(_ENTRY.iter_unpack(default[_VERSION_BYTES:]))
    has_mask = any(tag == _MASK for tag, _, _ in entries)
    # as for every new file that is no program: nobody may execute it
    narrowed = {_OWNER, _OTHERS, _MASK if has_mask else _GROUP}
    access = b"".join(
        _ENTRY.pack(tag, rights & _READ_AND_WRITE if tag in narrowed else rights, who)
        for tag, rights, who in entries
    )
    os.setxattr(new, _ACCESS, default[:_VERSION_BYTES] + access)


def _keep_owner(was: os.stat_result, new: int, path: str) -> None:
    """Keep owner and group as far as this user may; neither may lose access."""
    now = os.fstat(new)
    if (now.st_uid, now.st_gid) == (was.st_uid, was.st_gid):
        return
    with suppress(OSError):
        os.fchown(new, was.st_uid, was.st_gid)
        return
    with suppress(OSError):
        os.fchown(new, -1, was.st_gid)
    now = os.fstat(new)
    owner, group, others = (
        was.st_mode >> shift & _READ_AND_WRITE for shift in (6, 3, 0)
    )
    left = group if now.st_gid == was.st_gid else others
    if now.st_uid != was.st_uid and owner & ~left:
        who = _name(was.st_uid, lambda uid: pwd.getpwuid(uid).pw_name)
        raise FolderError(
            f"cannot write {path}: it belongs to {who}, who would lose access to it",
            hint=f"run wikisync as {who}, or let the group write: chmod g+rw {path}",
        )
    if group & ~left:
        who = _name(was.st_gid, lambda gid: grp.getgrgid(gid).gr_name)
        raise FolderError(
            f"cannot write {path}: its group {who} would lose access to it",
            hint=f"run wikisync as a member of {who}, or change the group of the file",
        )


def _name(number: int, find: Callable[[int], str]) -> str:
    try:
        return find(number)
    except KeyError:
        return str(number)


def _copy_extended(old: int, new: int) -> None:
    try:
        names = os.listxattr(old)
        if _ACCESS not in names and _ACCESS in os.listxattr(new):
            os.removexattr(new, _ACCESS)
    except OSError:
        return  # the disk has none
    for name in names:
        if name == _ACCESS or name.startswith("user."):
            os.setxattr(new, name, os.getxattr(old, name))
        elif name == _LABEL:
            # only some programs may set it, and the folder's is mostly the same
            with suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))
