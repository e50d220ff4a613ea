"""``wikisync export``: wikis of a service become a static website.

A mirror pull into a private cache folder, then a site build from it.  The cache
belongs to one service and one output folder; losing it costs only time.  Nothing
is ever written to the service.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from wikisync.cli.context import Selection, open_client, service_options
from wikisync.cli.rendering import chosen_markup, markup_option, parse_settings
from wikisync.cli.service_command import ServiceCommand
from wikisync.errors import ExitCode, FolderError, UsageError
from wikisync.private import keep_private, make_private_file, make_private_folder

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.cli.context import FoundWiki
    from wikisync.cli.pulling import Pulled
    from wikisync.markup.record import MarkupOptions
    from wikisync.model import Problem, WikiOwner
    from wikisync.progress import Progress
    from wikisync.site.model import BuildReport, SiteOptions

CACHE_TAG = "CACHEDIR.TAG"
CACHE_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Wikis that `wikisync export` has read; removing this folder costs only time.
"""
WIKIS_FOLDER = "wikis"
SITE_FOLDER = "site"
DEFAULT_THEME = "default"


class Exported(Struct, frozen=True):
    """What one export did."""

    index: Path
    pulled: Pulled
    report: BuildReport
    problems: tuple[Problem, ...]


@click.command(
    name="export",
    cls=ServiceCommand,
    epilog="Example: wikisync export https://gitlab.example.com --project docs/handbook"
    " -o site",
)
@service_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the website; made, or an earlier export.",
)
@click.option("--title", help="Title of the site; else that of the wiki.")
@click.option(
    "--theme", default=DEFAULT_THEME, help="Name of the theme.", metavar="NAME"
)
@click.option(
    "--theme-option",
    "theme_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option of the theme; may be given again.",
)
@click.option(
    "--templates",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of your own templates and files, in front of the theme's.",
)
@click.option(
    "--mermaid",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A mermaid.min.js that you have: the site draws its diagrams with it.",
)
@markup_option
@click.option(
    "--strict", is_flag=True, help="Fail if a link is broken or a problem is left."
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where to keep what was read, for the next export.",
)
@click.option(
    "--allow-emptying",
    is_flag=True,
    help="Remove pages from the site even if most of a wiki is gone.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(
    console: Console,
    url: str,
    projects: tuple[str, ...],
    groups: tuple[str, ...],
    token_file: Path | None,
    output: Path,
    title: str | None,
    theme: str,
    theme_options: tuple[str, ...],
    templates: Path | None,
    mermaid: Path | None,
    markup: tuple[str, ...],
    cache: Path | None,
    *,
    is_all: bool,
    strict: bool,
    allow_emptying: bool,
    as_json: bool,
) -> int:
    """Turn wikis of the service at URL into a website that needs no server."""
    selection = Selection(projects, groups, is_all)
    selection.check()
    options = parse_theme_options(theme_options)
    rendering = chosen_markup(markup)
    client = open_client(url, token_file, console)
    check_output(output)
    check_theme(theme, options, templates, mermaid)
    place = cache or default_cache(str(client.address), output, os.environ)
    check_apart(output, place)
    with console.progress() as progress, held_cache(place):
        pulled = asyncio.run(
            pull(
                client,
                selection,
                place,
                allow_emptying=allow_emptying,
                progress=progress,
            )
        )
        exported = build(
            client,
            pulled,
            output,
            place,
            title=title,
            theme=theme,
            theme_options=options,
            templates=templates,
            mermaid=mermaid,
            markup=rendering,
            progress=progress,
        )
    return show_report(console, exported, is_strict=strict, as_json=as_json)


async def pull(
    client: Client,
    selection: Selection,
    cache: Path,
    *,
    allow_emptying: bool,
    progress: Progress,
) -> Pulled:
    """Make the cache equal to the wikis.

    Interrupted, it leaves a cache that the next export finishes.

    Raises:
        WikisyncError: a named wiki cannot be had, or nothing more can be done.
    """
    from wikisync.cli.context import find_wikis
    from wikisync.cli.pulling import Place, pull_all
    from wikisync.sync.reconcile import Policy

    place = Place(
        private=cache,
        folder_of=lambda wiki: cache / WIKIS_FOLDER / folder_name(wiki.owner),
        policy=Policy.MIRROR,
        allow_emptying=allow_emptying,
    )
    async with client:
        progress.start("look for wikis", None)
        found = await find_wikis(client, selection)
        pulled = await pull_all(client, found.wikis, place, progress)
    pulled.skipped[:0] = found.skipped
    return pulled


def build(
    client: Client,
    pulled: Pulled,
    output: Path,
    cache: Path,
    *,
    title: str | None = None,
    theme: str = "default",
    theme_options: Mapping[str, object] | None = None,
    templates: Path | None = None,
    mermaid: Path | None = None,
    markup: MarkupOptions | None = None,
    progress: Progress,
) -> Exported:
    """Make the site of what was pulled.

    Raises:
        Halted: a brake left no wiki to show.
        UsageError: there is no wiki with pages.
        SiteError: the theme or the output folder cannot be used.
    """
    from wikisync.markup.record import MarkupOptions
    from wikisync.site.build import build_site
    from wikisync.site.model import SiteOptions, WikiSource

    if not pulled.wikis and pulled.halted:
        raise pulled.halted[0]
    if not pulled.wikis:
        raise UsageError(
            f"there is no wiki with pages to export on {client.address}",
            hint="name one with --project or --group, or use a token that sees more",
        )
    sources = [
        WikiSource(
            owner=one.wiki.owner,
            title=one.wiki.title,
            folder=one.folder,
            web_url=one.wiki.web_url,
            visibility=one.wiki.visibility,
            description=one.wiki.description,
            placeholders=one.wiki.placeholders,
            problems=one.result.problems,
        )
        for one in pulled.wikis
    ]
    options: SiteOptions = SiteOptions(
        title=title or site_title([one.wiki for one in pulled.wikis], client),
        theme=theme,
        theme_options=theme_options or {},
        templates=templates,
        mermaid=mermaid,
        markup=markup or MarkupOptions(),
    )
    report = build_site(
        sources, output, options, cache=cache / SITE_FOLDER, progress=progress
    )
    # the build's problems hold those of its sources, each with its wiki's name
    own = (pulled.state_problem,) if pulled.state_problem else ()
    problems = tuple(dict.fromkeys((*own, *report.problems)))
    return Exported(output / "index.html", pulled, report, problems)


def site_title(wikis: Sequence[FoundWiki], client: Client) -> str:
    """The wiki's own title, the group's where all lie in it, else the host."""
    from yarl import URL

    if len(wikis) == 1:
        return wikis[0].title
    first = wikis[0]
    inside = f"{first.owner.full_path}/"
    rest = wikis[1:]
    if first.owner.kind == "group" and all(
        wiki.owner.full_path.startswith(inside) for wiki in rest
    ):
        return first.title
    # a person reads it: not in the ASCII that it is sent in
    return URL(client.address.origin).host or client.address.host


# -- output and cache --------------------------------------------------------------


def check_output(output: Path) -> None:
    """Refuse a folder that no site may be written to before anything is read.

    Raises:
        SiteError: it is not ours, or cannot be written.
    """
    from wikisync.site.output import open_output

    # lexists never raises: a name that is too long is told by open_output
    is_new = not os.path.lexists(output)
    open_output(output, {})
    if is_new:
        # nothing is left behind should the wikis turn out to be out of reach
        with suppress(OSError):
            output.rmdir()


def check_theme(
    theme: str,
    options: Mapping[str, object],
    templates: Path | None,
    mermaid: Path | None = None,
) -> None:
    """Refuse a theme that cannot be used before anything is read.

    Raises:
        SiteError: there is no such theme, option or script.
        UsageError: the templates are not in a folder.
    """
    if theme == DEFAULT_THEME and not (options or templates or mermaid):
        # it came with this program; the build reads it soon enough
        return
    from wikisync.site.theme import load_theme

    if templates is not None and not templates.is_dir():
        raise UsageError(
            f"there is no folder {templates} with templates",
            hint="make it with a folder templates/ in it, or leave --templates out",
        )
    load_theme(theme, project=templates, options=options, mermaid=mermaid)


def check_apart(output: Path, cache: Path) -> None:
    """Refuse a cache in the site or a site in the cache: each tidies its own folder.

    Raises:
        UsageError: one is the other, or lies in it.
    """
    site, private = Path(os.path.realpath(output)), Path(os.path.realpath(cache))
    if site.is_relative_to(private) or private.is_relative_to(site):
        raise UsageError(
            f"the output {output} and the cache {cache} overlap",
            hint="give --cache a folder of its own; nothing was touched",
        )


def default_cache(url: str, output: Path, environment: Mapping[str, str]) -> Path:
    """The cache folder of this service and this output folder."""
    configured = environment.get("XDG_CACHE_HOME", "")
    # the specification wants relative values ignored
    top = Path(configured) if configured.startswith("/") else _home() / ".cache"
    # earlier versions made it for everybody
    keep_private(top / "wikisync")
    key = f"{url}\n{output.absolute()}".encode("utf-8", "surrogateescape")
    return top / "wikisync" / "export" / hashlib.sha256(key).hexdigest()[:24]


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as exc:
        raise UsageError(
            "there is no home folder to keep the cache in",
            hint="name a folder with --cache, or set HOME",
        ) from exc


@contextmanager
def held_cache(cache: Path) -> Iterator[None]:
    """Hold the cache folder, marked as ours, while the block lasts.

    Raises:
        FolderError: it is another folder with files in it, in use, or not writable.
    """
    from wikisync.cli.pulling import STATE_FILE
    from wikisync.folder.workspace import LOCK_FILE, locked

    _refuse_foreign(cache, {LOCK_FILE})
    _make(cache)
    with locked(cache, f"the cache {cache}"):
        tag = cache / CACHE_TAG
        if not tag.exists():
            _write_tag(tag)
        if not (cache / STATE_FILE).exists():
            # pages without a base would outlive their wiki
            shutil.rmtree(cache / WIKIS_FOLDER, ignore_errors=True)
        _make(cache / WIKIS_FOLDER)
        yield


def _make(folder: Path) -> None:
    """Make a folder of the cache, for this user alone."""
    from wikisync.folder.descent import folder_error

    try:
        make_private_folder(folder)
    except OSError as exc:
        raise folder_error("write to", str(exc.filename or folder), exc) from exc


def _write_tag(tag: Path) -> None:
    try:
        make_private_file(tag)
        tag.write_text(CACHE_TAG_TEXT, encoding="utf-8")
    except OSError as exc:
        # a tag that was cut off would still make the folder ours
        tag.unlink(missing_ok=True)
        raise FolderError(
            f"cannot write to the cache {tag.parent}: {exc.strerror}",
            path=str(tag),
            hint="free some space, or choose another folder with --cache",
        ) from exc


def _refuse_foreign(cache: Path, ours: set[str]) -> None:
    try:
        names = {path.name for path in cache.iterdir()} if cache.exists() else set()
    except OSError as exc:
        raise FolderError(
            f"the cache {cache} cannot be read: {exc.strerror}",
            path=str(cache),
            hint="choose another folder with --cache",
        ) from exc
    if CACHE_TAG not in names and names - ours:
        raise FolderError(
            f"the cache {cache} holds files that are not from an export",
            path=str(cache),
            hint="choose an empty folder with --cache; nothing was touched",
        )


def folder_name(owner: WikiOwner) -> str:
    """A wiki's folder in the cache; paths of the service are not names of files."""
    return f"{owner.kind}-{hashlib.sha256(owner.full_path.encode()).hexdigest()[:24]}"


def parse_theme_options(given: Sequence[str]) -> Mapping[str, object]:
    """Options of a theme as ``name=value``.

    Raises:
        UsageError: there is no ``=``, or no name.
    """
    return parse_settings(given, "--theme-option")


# -- the report --------------------------------------------------------------------


def show_report(
    console: Console,
    exported: Exported,
    *,
    is_strict: bool = False,
    as_json: bool = False,
) -> int:
    """Print what an export did and give its exit code.

    Raises:
        Halted: a brake stopped at least one wiki; everything else is printed.
    """
    from wikisync.cli.pulling import show_problems
    from wikisync.cli.site_report import show_broken_links

    show_problems(console, exported.problems, exported.pulled.skipped)
    if as_json:
        console.result(json.dumps(_as_json(exported), ensure_ascii=False, indent=2))
    else:
        show_broken_links(console, exported.report)
        console.result(_summary(exported))
    return _exit_code(exported, is_strict=is_strict)


def _exit_code(exported: Exported, *, is_strict: bool) -> ExitCode:
    if exported.pulled.halted:
        raise exported.pulled.halted[0]
    if is_strict and (exported.problems or exported.report.broken_links):
        return ExitCode.FAILED
    return ExitCode.HELD if exported.problems else ExitCode.DONE


def _summary(exported: Exported) -> str:
    from wikisync.cli.sentences import counted
    from wikisync.cli.site_report import site_summary

    pages = counted(exported.report.pages, "page")
    wikis = counted(len(exported.pulled.wikis), "wiki")
    problems = len(exported.problems)
    return site_summary(
        exported.report, f"{pages} of {wikis}", problems, exported.index
    )


def _as_json(exported: Exported) -> dict[str, object]:
    from wikisync.cli.pulling import wiki_as_json
    from wikisync.cli.sentences import problem_as_json
    from wikisync.cli.site_report import broken_links_as_json, files_as_json

    report = exported.report
    return {
        "index": str(exported.index),
        "pages": report.pages,
        "files": files_as_json(report),
        "wikis": [wiki_as_json(wiki) for wiki in exported.pulled.wikis],
        "broken_links": broken_links_as_json(report),
        "skipped": [problem_as_json(note) for note in exported.pulled.skipped],
        "problems": [problem_as_json(problem) for problem in exported.problems],
    }
