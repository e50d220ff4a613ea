"""What values of ``wikisync.toml`` may be.  Pure.

Each check takes a string and returns what is wrong with it, or an empty string.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from wikisync.layout import PRIVATE_FOLDER

Check = Callable[[str], str]
URL_EXAMPLE = "https://gitlab.example.com"
PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def is_right(_value: str) -> str:
    """Any string will do."""
    return ""


def check_not_empty(value: str) -> str:
    """Something must stand there."""
    return "" if value.strip() else "must not be empty"


def check_url(value: str, example: str = URL_EXAMPLE) -> str:
    """An address of the web that holds no secret."""
    try:
        url = urlsplit(value)
        host, _ = url.hostname, url.port
    except ValueError:
        return "is not an address"
    if url.scheme not in {"http", "https"} or not host:
        return f"must be an address like {example}"
    if url.username is not None or url.password is not None:
        return "must not hold a user or a token"
    if url.query or url.fragment:
        return "must not have a query or a fragment"
    return ""


def check_site(value: str) -> str:
    """The address of a published site."""
    return check_url(value, "https://docs.example.com")


def check_kroki(value: str) -> str:
    """The address of a server that draws diagrams, or nothing."""
    return check_url(value, "https://kroki.example.com") if value else ""


def check_project(value: str) -> str:
    """The full path of a project."""
    if value.isdigit():
        return f"needs the full path; write the number beside it: id = {value}"
    if "/" not in value.strip("/"):
        return 'needs the full path with its namespace, like "docs/handbook"'
    return check_group(value)


def check_group(value: str) -> str:
    """The full path of a group."""
    if all(PATH_PART.fullmatch(part) for part in value.split("/")):
        return ""
    return 'must be a full path without slashes at its ends, like "docs/handbook"'


def check_folder(value: str) -> str:
    """A folder inside the workspace that is not wikisync's own."""
    path = PurePosixPath(value)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in value:
        return "must be a folder inside the workspace, like handbook"
    if path.parts[0].casefold() == PRIVATE_FOLDER:
        return "is wikisync's own folder"
    if not value.isprintable():
        return "must be a printable name"
    return ""


def check_language(value: str) -> str:
    """A language tag."""
    return "" if LANGUAGE.fullmatch(value) else "must be a language tag like en"


def check_listen(value: str) -> str:
    """An address of this machine alone, with a port; empty for none."""
    host, _, port = value.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) < 65_536
    if not value or (is_port and host in {"127.0.0.1", "localhost", "[::1]"}):
        return ""
    return 'must be an address of this machine with a port, like "127.0.0.1:8765"'


def tidy(folder: str) -> str:
    """A folder with single slashes and none at its end."""
    return str(PurePosixPath(folder)) if folder else ""
