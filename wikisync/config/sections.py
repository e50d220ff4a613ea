"""What ``wikisync.toml`` can say, one frozen class a section.  Pure.

What each key is for is said to people in ``new.toml``.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Struct, field

from wikisync.core.layout import PRIVATE_FOLDER
from wikisync.core.model import OwnerKind, WikiOwner

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


def check_kroki(value: str) -> str:
    """The address of a server that draws diagrams, or nothing."""
    return check_url(value, "https://kroki.example.com") if value else ""


def check_bucket(value: str) -> str:
    """The address of a bucket, or nothing."""
    parts = urlsplit(value)
    is_plain = not (parts.query or parts.fragment or "@" in parts.netloc)
    if not value or (value.startswith("s3://") and parts.netloc and is_plain):
        return ""
    return 'must be an address like "s3://handbook" or "s3://sites/handbook"'


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


def check_address(value: str) -> str:
    """A host and a port."""
    host, _, port = value.rpartition(":")
    is_port = re.fullmatch("[0-9]{1,5}", port) and int(port) < 65_536
    return "" if host and is_port else "is not HOST:PORT, like 127.0.0.1:9108"


def check_listen(value: str) -> str:
    """An address of this machine alone, with a port; empty for none."""
    is_here = value.rpartition(":")[0] in {"127.0.0.1", "localhost", "[::1]"}
    if not value or (is_here and not check_address(value)):
        return ""
    return 'must be an address of this machine with a port, like "127.0.0.1:8765"'


def tidy(folder: str) -> str:
    """A folder with single slashes and none at its end."""
    return str(PurePosixPath(folder)) if folder else ""


FILE_NAME = "wikisync.toml"

OptionValue = str | int | float | bool | tuple[str | int | float | bool, ...]
"""Value of a theme's option; the theme says which it takes."""


class Key(Struct, frozen=True):
    """What else is known of a key than its type and its default."""

    low: int = 0
    high: int = 0
    """Bounds of a number."""
    check: Check = is_right
    is_command: bool = False
    """Whether a list of words may be one string, too; it is run without a shell."""
    example: str = ""
    """Of a key that must be there."""


Command = Annotated[tuple[str, ...], Key(is_command=True)]


class ServiceSection(Struct, frozen=True):
    """Where the wikis are and where the token comes from."""

    url: Annotated[str, Key(check=check_url, example=URL_EXAMPLE)]
    """Address of the service, without ``/api/v4`` and trailing slash."""
    token_command: Command = ()
    """Command whose first line of output is the token; run without a shell."""
    token_file: str = ""
    """File that holds the token, readable by its owner alone."""


class WikiSection(Struct, frozen=True):
    """One wiki and the folder that holds it."""

    kind: OwnerKind
    path: str
    """Full path of the project or group."""
    folder: str
    """Relative to the workspace, with ``/``."""
    id: int | None = None
    """Of the project or group, which stays when its path becomes another one."""

    @property
    def owner(self) -> WikiOwner:
        """The project or group as the rest of the house names it."""
        return WikiOwner(self.kind, self.path)


SETTLE_MS = Key(50, 10_000)


class SyncSection(Struct, frozen=True):
    """How folder and wikis are kept in sync."""

    settle_ms: Annotated[int, SETTLE_MS] = 300
    poll_interval_s: Annotated[int, Key(1, 86_400)] = 15
    """A third of that while something does."""
    listen: Annotated[str, Key(check=check_listen)] = ""
    """For health, too; empty: none."""
    hook_secret_file: str = ""
    exclude: tuple[str, ...] = ()
    """By path or folder."""
    attention_command: Command = ()


_check_site = partial(check_url, example="https://docs.example.com")


class SiteSection(Struct, frozen=True):
    """The website."""

    title: str = ""
    output: Annotated[str, Key(check=check_folder)] = "site"
    """Relative to the workspace."""
    after: Command = ()
    bucket: Annotated[str, Key(check=check_bucket)] = ""
    keep: Annotated[int, Key(0, 100)] = 1
    publish: bool = False
    slow_pages_seconds: Annotated[int, Key(0, 86_400)] = 60
    history: Annotated[int, Key(0, 100)] = 10
    public: bool = False
    report: bool = True
    sources: bool | None = None
    page_templates: bool = False
    url: Annotated[str, Key(check=_check_site)] = ""
    language: Annotated[str, Key(check=check_language)] = "en"
    description: str = ""
    theme: Annotated[str, Key(check=check_not_empty)] = "default"
    templates: Annotated[str, Key(check=check_folder)] = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    """Options of the theme, from ``[site.options]``."""


MathOutput = Literal["mathml", "source"]
MarkdownEngine = Literal["auto", "markdown-it", "comrak"]
AsciidocEngine = Literal["auto", "quickjs", "mini-racer", "asciidoc3"]


class MarkupSection(Struct, frozen=True):
    """How pages are rendered."""

    markdown_engine: MarkdownEngine = "auto"
    """``auto`` is comrak where it is installed."""
    asciidoc_engine: AsciidocEngine = "auto"
    """``auto`` is the fastest that is installed."""
    math: MathOutput = "mathml"
    kroki: Annotated[str, Key(check=check_kroki)] = ""
    highlight: bool = True
    emoji: bool = True
    anchors: bool = True
    placeholders: bool = False


class PreviewSection(Struct, frozen=True):
    """Where ``wikisync preview`` listens."""

    host: Annotated[str, Key(check=check_not_empty)] = "127.0.0.1"
    port: Annotated[int, Key(0, 65_535)] = 8000


class CheckSection(Struct, frozen=True):
    """What ``wikisync check --external`` leaves out."""

    ignore: tuple[str, ...] = ()
    """Patterns of addresses, as of file names."""


class Config(Struct, frozen=True):
    """Everything that ``wikisync.toml`` says."""

    service: ServiceSection
    wikis: tuple[WikiSection, ...] = ()
    sync: SyncSection = SyncSection()
    site: SiteSection = field(default_factory=SiteSection)
    markup: MarkupSection = MarkupSection()
    preview: PreviewSection = PreviewSection()
    check: CheckSection = CheckSection()

    @property
    def synced_wikis(self) -> tuple[WikiSection, ...]:
        """The wikis that are kept in sync: those that ``[sync] exclude`` names not."""
        left_out = set(self.sync.exclude)
        return tuple(
            wiki for wiki in self.wikis if not left_out & {wiki.path, wiki.folder}
        )
