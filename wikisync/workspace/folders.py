"""What a folder shows: a workspace, one wiki of it, or any folder of pages.

No service is asked: what only it knows (titles, visibility) is taken from the
configuration, or from the names of folders.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.config import FILE_NAME, Config, WikiSection
from wikisync.config.reading import overlap
from wikisync.config.trust import refuse_unagreed
from wikisync.core.layout import CACHE_FOLDER, PRIVATE_FOLDER, STATE_FILE
from wikisync.core.model import PagePath, WikiOwner
from wikisync.core.terminal import path_text
from wikisync.core.versions import UNKNOWN, Versions
from wikisync.errors import ConfigError, StateError, UsageError, WikisyncError
from wikisync.folder.naming import parse_path
from wikisync.folder.workspace import holder_of
from wikisync.site.model import SiteOptions, WikiOrigin, WikiSource
from wikisync.site.preview.world import PreviewInputs
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.plan import BasePage
from wikisync.workspace.cache import default_cache
from wikisync.workspace.configured import no_wiki, read_config, workspace_above
from wikisync.workspace.page_files import markup_options

PROJECT_THEME = "theme"
"""Folder beside the configuration with the project's own templates."""
TERMINAL_EDITORS = frozenset(
    [
        *("ed", "ex", "helix", "hx", "joe", "kak", "mcedit", "micro", "nano"),
        *("nvi", "nvim", "pico", "vi", "view", "vim"),
    ]
)
"""Editors that want the terminal, which the preview has."""
_NOT_IN_PATHS = r"[^A-Za-z0-9_.-]+"


class ThemeChoice(Struct, frozen=True):
    """What ``--theme``, ``--no-report`` and their like say."""

    theme: str | None = None
    options: Mapping[str, object] = {}
    templates: Path | None = None
    has_report: bool = True
    page_templates: bool = False

    def over(self, site: SiteOptions) -> SiteOptions:
        """The options of a site with this choice in front."""
        # another theme knows nothing of the options for the one before
        before = site.theme_options if self.theme in {None, site.theme} else {}
        return replace(
            site,
            theme=self.theme or site.theme,
            theme_options={**before, **self.options},
            templates=self.templates or site.templates,
            has_report=self.has_report and site.has_report,
            page_templates=self.page_templates or site.page_templates,
        )


DEFAULT_CHOICE = ThemeChoice()


class ShownFolder(Struct, frozen=True):
    """A folder as a command names it."""

    folder: Path
    workspace: Path | None
    """The workspace that it is, or lies in."""
    theme: ThemeChoice = DEFAULT_CHOICE

    @property
    def settings(self) -> Path | None:
        """The workspace's configuration."""
        return self.workspace / FILE_NAME if self.workspace else None

    @property
    def private(self) -> Path | None:
        """The workspace's own folder."""
        return self.workspace / PRIVATE_FOLDER if self.workspace else None

    def config(self) -> Config | None:
        """The workspace's configuration, read anew."""
        return read_config(self.settings) if self.settings else None

    def site(self) -> tuple[tuple[WikiSource, ...], SiteOptions]:
        """Its wikis and how their site is made, as the configuration says now.

        ConfigError also where it names a server for diagrams that nobody agreed to.
        """
        config = self.config()
        if config is None or self.workspace is None:
            wikis, options = _plain_site(self.folder)
        else:
            wikis, options = _workspace_site(self.folder, self.workspace, config)
        return wikis, self.theme.over(options)


def find_shown(folder: Path, theme: ThemeChoice = DEFAULT_CHOICE) -> ShownFolder:
    """What a folder on the command line is."""
    workspace = workspace_above(folder)
    return ShownFolder(folder.resolve(), workspace, theme)


def cache_folder(shown: ShownFolder, name: str, environment: Mapping[str, str]) -> Path:
    """Where a command keeps what costs only time to lose."""
    if shown.workspace is not None:
        return shown.workspace / PRIVATE_FOLDER / CACHE_FOLDER / name
    return default_cache(name, shown.folder, environment)


def know_again(
    private: Path,
    root: Path,
    files: Mapping[PagePath, tuple[str, str]],
    moved: Set[PagePath],
) -> None:
    """Note by what files of a wiki's folder were known, and are now."""
    # Else a page with another text and another name would be a new one.  A sync that
    # runs beside it reads that.
    if not (private / STATE_FILE).exists():
        return
    # without it the page is removed and made anew, and no text is lost
    with suppress(StateError), State.open(private / STATE_FILE, is_held=False) as state:
        folder = os.path.relpath(root.resolve(), private.parent.resolve())
        for known in state.of_folder(folder):
            # what a sync records meanwhile must not be written over
            with known.together():
                _rename_identities(known, files, moved)


def _rename_identities(
    known: WikiState, files: Mapping[PagePath, tuple[str, str]], moved: Set[PagePath]
) -> None:
    base, names = known.base(), known.aliases()
    owners = {page.local_identity: slug for slug, page in base.items()}
    owners.pop("", None)
    pages: list[BasePage] = []
    for path, (before, now) in files.items():
        found = parse_path(path)
        slug = owners.get(before)
        if slug is None and path in moved and found is not None:
            slug = names.get(found[0], found[0])
        if slug is not None and slug in base:
            pages.append(replace(base[slug], local_identity=now))
    known.refresh(pages)


def _workspace_site(
    folder: Path, workspace: Path, config: Config
) -> tuple[tuple[WikiSource, ...], SiteOptions]:
    wikis = tuple(
        wiki
        for wiki in config.wikis
        if folder == workspace
        or folder.is_relative_to((workspace / wiki.folder).resolve())
    )
    if not wikis and folder != workspace:
        # a folder of the workspace that is none of its wikis, shown by itself
        return _plain_site(folder)
    if not wikis:
        raise no_wiki(workspace)
    refuse_unagreed(workspace, config, os.environ, keys={"markup.kroki"})
    seen = _seen(workspace, wikis)
    sources = tuple(
        replace(_source(workspace, wiki, config), renames=renames, versions=versions)
        for wiki, (renames, versions) in zip(wikis, seen, strict=True)
    )
    site = config.site
    default = sources[0].title if len(sources) == 1 else path_text(workspace.name)
    return sources, SiteOptions(
        title=site.title or default,
        url=site.url or None,
        lang=site.language,
        description=site.description,
        theme=_theme(workspace, site.theme),
        theme_options=site.options,
        templates=_templates(workspace, config),
        markup=markup_options(config.markup),
        slow_pages_seconds=site.slow_pages_seconds,
        has_report=site.report,
        sources=site.sources,
        history=site.history,
        page_templates=site.page_templates,
    )


def _seen(
    workspace: Path, wikis: Sequence[WikiSection]
) -> list[tuple[Mapping[str, str], Versions]]:
    """The renames and changes that the syncs of each wiki saw, if the state tells."""
    private = workspace / PRIVATE_FOLDER
    if not (private / STATE_FILE).exists():
        return [({}, UNKNOWN)] * len(wikis)
    try:
        is_live = holder_of(private) is not None
        with State.copy(private / STATE_FILE, is_live=is_live) as state:
            known = [state.wiki(wiki.owner) for wiki in wikis]
            return [(one.renames(), one.seen()) for one in known]
    except WikisyncError:
        return [({}, UNKNOWN)] * len(wikis)


def _source(workspace: Path, wiki: WikiSection, config: Config) -> WikiSource:
    kind = "groups/" if wiki.kind == "group" else ""
    return WikiSource(
        visibility="public" if config.site.public else "private",
        owner=wiki.owner,
        title=wiki.path.rpartition("/")[2],
        folder=workspace / wiki.folder,
        web_url=f"{config.service.url}/{kind}{wiki.path}" if config.service.url else "",
        origin=WikiOrigin(service=config.service.url),
    )


def _plain_site(folder: Path) -> tuple[tuple[WikiSource, ...], SiteOptions]:
    title = path_text(folder.name) or "pages"
    # paths of the service are narrower than names of folders
    path = re.sub(_NOT_IN_PATHS, "-", title).strip("-") or "pages"
    source = WikiSource(WikiOwner("project", f"local/{path}"), title, folder=folder)
    return (source,), SiteOptions(title=title)


def _templates(workspace: Path, config: Config) -> Path | None:
    """The folder of the project's own templates; ``theme`` need not be there."""
    named = config.site.templates
    own = workspace / (named or PROJECT_THEME)
    if named and not own.is_dir():
        raise ConfigError(
            f"site.templates: there is no folder {own}",
            hint="create it with a templates/ folder, or remove the key",
        )
    is_taken = any(overlap(PROJECT_THEME, wiki.folder) for wiki in config.wikis)
    is_whole = Path(_theme(workspace, config.site.theme)) == own
    return None if not named and (is_taken or is_whole) else own


def _theme(workspace: Path, theme: str) -> str:
    """A theme's name, or the path of its folder, seen from the workspace."""
    return os.fspath(workspace / theme) if "/" in theme else theme


# -- previews ----------------------------------------------------------------------


def preview_inputs(shown: ShownFolder) -> PreviewInputs:
    """What a folder shows, as the configuration says now."""
    return PreviewInputs(*shown.site())


def editor_command(
    given: str | None, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The command that opens a page's file: the person's editor, else the desktop's."""
    # an editor that needs the terminal is passed over, since the preview has it
    if given is not None:
        try:
            words = shlex.split(given)
        except ValueError:
            words = []
        if not words or shutil.which(words[0]) is None:
            raise UsageError(
                f"--editor {given} is not a command on this machine",
                hint='write it like --editor "code --reuse-window"',
            )
        return tuple(words)
    for name in ("VISUAL", "EDITOR"):
        with suppress(ValueError):
            words = shlex.split(environment.get(name, ""))
            if words and Path(words[0]).name not in TERMINAL_EDITORS:
                return tuple(words)
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    return (opener,) if shutil.which(opener) else ()
