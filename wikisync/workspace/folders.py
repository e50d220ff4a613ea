"""What a folder shows (a workspace, one wiki, or pages), its site, and private caches.

No service is asked: what only it knows is taken from the configuration, or from names.
"""

import hashlib
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync import errors
from wikisync.config.reading import overlap
from wikisync.config.sections import FILE_NAME, Config, WikiSection
from wikisync.config.trust import refuse_unagreed
from wikisync.core.layout import CACHE_FOLDER, LOCK_FILE, PRIVATE_FOLDER, STATE_FILE
from wikisync.core.messages import Progress
from wikisync.core.model import PagePath, Problem, WikiOwner
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.core.terminal import path_text
from wikisync.core.versions import UNKNOWN, Versions
from wikisync.folder.naming import parse_path
from wikisync.folder.safe_open import folder_error
from wikisync.folder.workspace import holder_of, locked
from wikisync.site import model
from wikisync.site.build import build_site
from wikisync.site.manifest import leave
from wikisync.site.publish import KEEP_DEFAULT, AfterCommand, Published, publish
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import BasePage
from wikisync.workspace.configured import no_wiki, read_config, workspace_above
from wikisync.workspace.page_files import markup_options

PROJECT_THEME = "theme"
TERMINAL_EDITORS = frozenset(
    [
        *("ed", "ex", "helix", "hx", "joe", "kak", "mcedit", "micro", "nano"),
        *("nvi", "nvim", "pico", "vi", "view", "vim"),
    ]
)
_NOT_IN_PATHS = r"[^A-Za-z0-9_.-]+"


class ThemeChoice(Struct, frozen=True):
    """What ``--theme``, ``--no-report`` and their like say."""

    theme: str | None = None
    options: Mapping[str, object] = {}
    templates: Path | None = None
    has_report: bool = True
    page_templates: bool = False

    def over(self, site: model.SiteOptions) -> model.SiteOptions:
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

    def site(self) -> tuple[tuple[model.WikiSource, ...], model.SiteOptions]:
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
    """Where a command keeps what costs only time to lose, if it may write there."""
    if shown.workspace is not None:
        private = shown.workspace / PRIVATE_FOLDER
        is_there = os.access(private, os.F_OK)
        if os.access(private if is_there else shown.workspace, os.W_OK):
            return private / CACHE_FOLDER / name
    return default_cache(name, shown.folder, environment)


def know_again(
    private: Path,
    root: Path,
    files: Mapping[PagePath, tuple[str, str]],
    moved: Set[PagePath],
    texts: Mapping[PagePath, tuple[str, str]],
) -> None:
    """Note by what files of a folder were known, and are now, and their texts."""
    # Else a page with another text and another name would be a new one.  A sync that
    # runs beside it reads that.
    if not (private / STATE_FILE).exists():
        return
    # without it the page is removed and made anew, and no text is lost
    with (
        suppress(errors.StateError),
        State.open(private / STATE_FILE, is_held=False) as state,
    ):
        folder = os.path.relpath(root.resolve(), private.parent.resolve())
        for known in state.of_folder(folder):
            # what a sync records meanwhile must not be written over
            with known.together():
                base, names = known.base(), known.aliases()
                owners = {page.local_identity: slug for slug, page in base.items()}
                owners.pop("", None)
                pages: list[BasePage] = []
                for path, (before, now) in files.items():
                    found, slug = parse_path(path), owners.get(before)
                    if slug is None and path in moved and found is not None:
                        slug = names.get(found[0], found[0])
                    if slug is not None and slug in base:
                        pages.append(replace(base[slug], local_identity=now))
                known.refresh(pages)
                for path, (before, after) in texts.items():
                    # links that a later rename changes back are no older copy
                    if found := parse_path(path):
                        slug = known.aliases().get(found[0], found[0])
                        known.remember_replaced(slug, before, after, time.time())


def _workspace_site(
    folder: Path, workspace: Path, config: Config
) -> tuple[tuple[model.WikiSource, ...], model.SiteOptions]:
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
    refuse_unagreed(workspace, config, {"markup.kroki"})
    seen = _seen(workspace, wikis)
    sources = tuple(
        replace(_source(workspace, wiki, config), renames=renames, versions=versions)
        for wiki, (renames, versions) in zip(wikis, seen, strict=True)
    )
    site = config.site
    default = sources[0].title if len(sources) == 1 else path_text(workspace.name)
    return sources, model.SiteOptions(
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
    if (private / STATE_FILE).exists():
        with suppress(errors.WikisyncError):
            is_live = holder_of(private) is not None
            with State.copy(private / STATE_FILE, is_live=is_live) as state:
                known = [state.wiki(wiki.owner) for wiki in wikis]
                return [(one.renames(), one.seen()) for one in known]
    return [({}, UNKNOWN)] * len(wikis)


def _source(workspace: Path, wiki: WikiSection, config: Config) -> model.WikiSource:
    kind = "groups/" if wiki.kind == "group" else ""
    return model.WikiSource(
        visibility="public" if config.site.public else "private",
        owner=wiki.owner,
        title=wiki.path.rpartition("/")[2],
        folder=workspace / wiki.folder,
        web_url=f"{config.service.url}/{kind}{wiki.path}" if config.service.url else "",
        origin=model.WikiOrigin(service=config.service.url),
    )


def _plain_site(folder: Path) -> tuple[tuple[model.WikiSource, ...], model.SiteOptions]:
    title = path_text(folder.name) or "pages"
    # paths of the service are narrower than names of folders
    path = re.sub(_NOT_IN_PATHS, "-", title).strip("-") or "pages"
    source = model.WikiSource(
        WikiOwner("project", f"local/{path}"), title, folder=folder
    )
    return (source,), model.SiteOptions(title=title)


def _templates(workspace: Path, config: Config) -> Path | None:
    named = config.site.templates
    own = workspace / (named or PROJECT_THEME)
    if named and not own.is_dir():
        raise errors.ConfigError(
            f"site.templates: there is no folder {own}",
            hint="create it with a templates/ folder, or remove the key",
        )
    is_taken = any(overlap(PROJECT_THEME, wiki.folder) for wiki in config.wikis)
    is_whole = Path(_theme(workspace, config.site.theme)) == own
    return None if not named and (is_taken or is_whole) else own


def _theme(workspace: Path, theme: str) -> str:
    return os.fspath(workspace / theme) if "/" in theme else theme


# -- previews ----------------------------------------------------------------------


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
            raise errors.UsageError(
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


# -- building the site -------------------------------------------------------------


class Built(Struct, frozen=True):
    """What one build did, or an export."""

    index: Path
    report: model.BuildReport
    problems: tuple[Problem, ...]
    books: model.BookRequest = model.NO_BOOKS
    is_switched: bool | None = None
    """Whether a new version took the site's place; None where that is not asked."""


def site_folder(shown: ShownFolder, config: Config | None) -> Path:
    """Where the site of a workspace goes; UsageError where the folder is none."""
    if config is None or shown.workspace is None or shown.workspace != shown.folder:
        raise errors.UsageError(
            f"no output folder is given for the site of {shown.folder}",
            hint="give a folder with -o, or set [site] output",
        )
    return shown.workspace / config.site.output


def build(
    shown: ShownFolder,
    config: Config | None,
    output: Path | None,
    progress: Progress,
    *,
    books: model.BookRequest = model.NO_BOOKS,
    publishes: bool = False,
    replaces: bool = False,
    retries: bool = False,
) -> Built:
    """Bring the site in a folder up to date, and write the books asked for.

    Published, a new version takes the old one's place at once and what follows is run;
    else files change one by one.  After an error the site is as it was.
    """
    wikis, options = shown.site()
    options = replace(options, retries=retries)
    cache = cache_folder(shown, "site", os.environ)
    published: Published | None = None
    report: model.BuildReport | None = None
    may_leave = leave(replaces=replaces)
    if output is not None:
        check_apart(output, shown.private or cache)
    if output is not None and publishes:
        import asyncio  # slow to load

        bucket, after = after_publishing(shown, config)
        published = asyncio.run(
            publish(
                wikis,
                output,
                options,
                cache=cache,
                keep=config.site.keep if config else KEEP_DEFAULT,
                bucket=bucket,
                after=after,
                may_leave=may_leave,
                progress=progress,
            )
        )
        report = published.report
    elif output is not None:
        report = build_site(
            wikis, output, options, cache=cache, may_leave=may_leave, progress=progress
        )
    if report is None or books.files:
        from wikisync.site.book.writing import with_books  # slow to load

        report = with_books(
            report, wikis, books, options, cache=cache, progress=progress
        )
    index = books.files[0][1] if output is None else output / "index.html"
    problems = (*report.problems, *(published.problems if published else ()))
    is_switched = published.is_switched if published else None
    return Built(index, report, problems, books, is_switched)


def after_publishing(
    shown: ShownFolder, config: Config | None
) -> tuple[str, AfterCommand | None]:
    """The bucket and the command of ``[site]``, agreed to, where there are any.

    The command runs without the token.
    """
    if config is None or shown.workspace is None:
        return "", None
    refuse_unagreed(shown.workspace, config, {"site.after", "site.bucket"})
    after = None
    if words := config.site.after:
        after = AfterCommand(words, shown.workspace, os.environ)
    return config.site.bucket, after


# -- the cache of an export --------------------------------------------------------


CACHE_TAG = "CACHEDIR.TAG"
CACHE_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Wikis that `wikisync export` has read; it is safe to delete this folder; the next
# export takes longer.
"""


def check_apart(output: Path, cache: Path) -> None:
    """Refuse a site in what is ours, and the reverse: each tidies its own folder."""
    site, private = Path(os.path.realpath(output)), Path(os.path.realpath(cache))
    if site.is_relative_to(private) or private.is_relative_to(site):
        raise errors.UsageError(
            f"the output {output} and wikisync's own folder {cache} overlap",
            hint="choose another folder with -o; nothing was changed",
        )


def default_cache(url: str, output: Path, environment: Mapping[str, str]) -> Path:
    """The cache folder of this service and this output folder."""
    caches = Path(environment.get("XDG_CACHE_HOME", ""))
    # the specification wants relative values ignored
    if not caches.is_absolute():
        try:
            caches = Path.home() / ".cache"
        except RuntimeError as exc:
            raise errors.UsageError(
                "there is no home folder for the cache",
                hint="name a folder with --cache, or set HOME",
            ) from exc
    key = f"{url}\n{output.absolute()}".encode("utf-8", "surrogateescape")
    return caches / "wikisync" / "export" / hashlib.sha256(key).hexdigest()[:24]


@contextmanager
def held_cache(cache: Path) -> Iterator[None]:
    """Hold the cache folder, marked as ours; FolderError where it is not ours."""
    _refuse_foreign(cache)
    try:
        make_private_folder(cache)
    except OSError as exc:
        raise _unusable("write to", exc.filename or cache, exc) from exc
    with locked(cache, f"the cache {cache}"):
        tag = cache / CACHE_TAG
        if not tag.exists():
            try:
                make_private_file(tag)
                tag.write_text(CACHE_TAG_TEXT, encoding="utf-8")
            except OSError as exc:
                # a tag that was cut off would still make the folder ours
                tag.unlink(missing_ok=True)
                raise _unusable("write to", tag, exc) from exc
        yield


def _unusable(doing: str, path: Path | str, exc: OSError) -> errors.FolderError:
    error = folder_error(doing, str(path), exc)
    step = "name another folder for the cache with --cache"
    error.hint = f"{error.hint}; or {step}" if error.hint else step
    return error


def _refuse_foreign(cache: Path) -> None:
    try:
        names = {path.name for path in cache.iterdir()} if cache.exists() else set()
    except OSError as exc:
        raise _unusable("read", cache, exc) from exc
    if CACHE_TAG not in names and names - {LOCK_FILE}:
        raise errors.FolderError(
            f"the cache {cache} holds files that are not from an export",
            hint="choose an empty folder with --cache; nothing was changed",
        )
