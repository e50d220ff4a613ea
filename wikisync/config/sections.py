"""What ``wikisync.toml`` can say, one frozen class a section.  Pure.

What each key is for is said to people in ``new.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from wikisync.config.checks import (
    Check,
    check_folder,
    check_kroki,
    check_language,
    check_listen,
    check_not_empty,
    check_site,
    is_right,
)
from wikisync.model import OwnerKind, WikiOwner

FILE_NAME = "wikisync.toml"

OptionValue = str | int | float | bool | tuple[str | int | float | bool, ...]
"""Value of a theme's option; the theme says which it takes."""


class ServiceSection(Struct, frozen=True):
    """Where the wikis are and where the token comes from."""

    url: str
    """Address of the service, without ``/api/v4`` and trailing slash."""
    token_command: tuple[str, ...] = ()
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


class Key(Struct, frozen=True):
    """What else is known of a key than its type and its default."""

    low: int = 0
    high: int = 0
    """Bounds of a number."""
    check: Check = is_right
    is_command: bool = False
    """Whether a list of words may be one string, too; it is run without a shell."""


Command = Annotated[tuple[str, ...], Key(is_command=True)]


class SyncSection(Struct, frozen=True):
    """How folder and wikis are kept in sync."""

    reads_max: Annotated[int, Key(1, 32)] = 8
    settle_ms: Annotated[int, Key(50, 10_000)] = 300
    poll_interval_s: Annotated[int, Key(1, 86_400)] = 15
    """A third of that while something does."""
    listen: Annotated[str, Key(check=check_listen)] = ""
    """For health, too; empty: none."""
    hook_secret_file: str = ""
    exclude: tuple[str, ...] = ()
    """By path or folder."""
    attention_command: Command = ()


class SiteSection(Struct, frozen=True):
    """The website."""

    title: str = ""
    output: Annotated[str, Key(check=check_folder)] = "site"
    """Relative to the workspace."""
    after: Command = ()
    keep: Annotated[int, Key(0, 100)] = 1
    publish: bool = False
    slow_pages_seconds: Annotated[int, Key(0, 86_400)] = 60
    public: bool = False
    report: bool = True
    page_templates: bool = False
    url: Annotated[str, Key(check=check_site)] = ""
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


class Config(Struct, frozen=True):
    """Everything that ``wikisync.toml`` says."""

    service: ServiceSection
    wikis: tuple[WikiSection, ...] = ()
    sync: SyncSection = SyncSection()
    site: SiteSection = field(default_factory=SiteSection)
    markup: MarkupSection = MarkupSection()
    preview: PreviewSection = PreviewSection()

    @property
    def synced_wikis(self) -> tuple[WikiSection, ...]:
        """The wikis that are kept in sync: those that ``[sync] exclude`` names not."""
        left_out = set(self.sync.exclude)
        return tuple(
            wiki for wiki in self.wikis if not left_out & {wiki.path, wiki.folder}
        )
