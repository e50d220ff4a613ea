"""What ``wikisync.toml`` can say, one frozen class a section.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

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


class SyncSection(Struct, frozen=True):
    """How folder and wikis are kept in sync."""

    reads_max: int = 8
    """Pages read at once."""
    settle_ms: int = 300
    """Quiet time after a save before a file is looked at."""
    poll_interval_s: int = 15
    """Time between two hints from the service while nothing happens; a third of that
    while something does."""
    listen: str = ""
    """Address on this machine for webhooks and health; empty: none."""
    hook_secret_file: str = ""
    """File with the secret that webhooks send."""
    attention_command: tuple[str, ...] = ()
    """Command to run when a person is needed; without a shell."""
    exclude: tuple[str, ...] = ()
    """Wikis that ``sync``, ``status`` and ``watch`` leave out, by path or folder."""


class SiteSection(Struct, frozen=True):
    """The website."""

    title: str = ""
    """Empty: the wiki's own title."""
    output: str = "site"
    """Folder of the site, relative to the workspace."""
    after: tuple[str, ...] = ()
    """Command to run when a new version is published; without a shell."""
    keep: int = 1
    """Earlier versions of a published site that stay."""
    publish: bool = False
    """Whether ``watch`` keeps it in sync."""
    slow_pages_seconds: int = 60
    """Processor time of a build for pages that go over a limit."""
    public: bool = False
    """Whether search engines may list it."""
    report: bool = True
    """Whether it has pages with its broken links, wanted pages and orphans."""
    compress: bool = False
    """Whether text files lie beside themselves as ``.gz`` and ``.br``."""
    url: str = ""
    """Address where it will be published; empty when unknown."""
    language: str = "en"
    description: str = ""
    theme: str = "default"
    templates: str = ""
    """Folder of the project's own templates; empty: ``theme``, if it is there."""
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
    kroki: str = ""
    """Address of a Kroki server that draws diagrams; empty: there is none."""
    highlight: bool = True
    """Whether code is coloured."""
    emoji: bool = True
    """Whether ``:tada:`` becomes a character."""
    anchors: bool = True
    """Whether each heading gets a link to itself."""
    placeholders: bool = False
    """Whether ``%{project_path}`` and the like are filled in."""


class PreviewSection(Struct, frozen=True):
    """Where ``wikisync preview`` listens."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free one."""


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
