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
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from wikisync.cli.context import Selection, open_selected, service_options
from wikisync.cli.keeping import Keeping, KeptWiki, service_of
from wikisync.cli.rendering import chosen_markup, markup_option
from wikisync.cli.service_command import ServiceCommand
from wikisync.cli.site_report import replace_option
from wikisync.cli.theming import theme_choice, theme_options
from wikisync.errors import ExitCode, FolderError, UsageError, WikisyncError
from wikisync.private import keep_private, make_private_file, make_private_folder

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.cli.pulling import Pulled, PulledWiki
    from wikisync.markup.record import MarkupOptions
    from wikisync.model import Problem, WikiOwner
    from wikisync.progress import Progress
    from wikisync.site.model import BuildReport, SiteOptions, WikiSource
    from wikisync.site.published import PublishedWiki

CACHE_TAG = "CACHEDIR.TAG"
CACHE_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Wikis that `wikisync export` has read; it is safe to delete this folder; the next
# export takes longer.
"""
WIKIS_FOLDER = "wikis"
SITE_FOLDER = "site"
DEFAULT_THEME = "default"


class Exported(Struct, frozen=True):
    """What one export did."""

    index: Path
    pulled: Pulled
    kept: list[KeptWiki]
    """Wikis of the site that could not be read, and are as they were read last."""
    notes: tuple[Problem, ...]
    """Wikis that are not in the site because there is nothing to publish."""
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
    help="Output folder of the site: a new folder or an earlier export.",
)
@click.option("--title", help="Title of the site. [default: the title of the wiki]")
@theme_options
@click.option(
    "--mermaid",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A mermaid.min.js file; the site uses it to draw diagrams.",
)
@markup_option
@click.option(
    "--strict", is_flag=True, help="Fail if there is a broken link or a problem."
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for data that speeds up the next export.",
)
@click.option(
    "--retry",
    is_flag=True,
    help="Retry pages that exceeded the time or memory limit.",
)
@click.option(
    "--allow-emptying",
    is_flag=True,
    help="Remove pages from the site even if most of a wiki, or all of it, is gone.",
)
@replace_option()
@click.option(
    "--anonymous",
    "is_anonymous",
    is_flag=True,
    help="Allow an export without a token over one made with a token.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(
    console: Console,
    url: str,
    projects: tuple[str, ...],
    groups: tuple[str, ...],
    excluded: tuple[str, ...],
    token_file: Path | None,
    output: Path,
    title: str | None,
    theme: str | None,
    theme_options: tuple[str, ...],
    templates: Path | None,
    mermaid: Path | None,
    markup: tuple[str, ...],
    cache: Path | None,
    *,
    has_report: bool,
    is_all: bool,
    retry: bool,
    strict: bool,
    allow_emptying: bool,
    replaces: bool,
    is_anonymous: bool,
    as_json: bool,
) -> int:
    """Export wikis of the service at URL as a static website.

    URL may also be the address of a wiki, a project or a group, which selects that
    wiki.
    """
    selection = Selection(projects, groups, is_all, excluded)
    options = theme_choice(theme, theme_options, templates).options
    rendering = chosen_markup(markup)
    check_output(output)
    client, selection = open_selected(url, token_file, selection, console)
    keeping = Keeping(
        _published(output),
        service_of(client),
        replaces=replaces,
        allow_emptying=allow_emptying,
    )
    keeping.refuse_without_token(client, is_anonymous=is_anonymous)
    theme = theme or DEFAULT_THEME
    check_theme(theme, options, templates, mermaid)
    place = cache or default_cache(str(client.address), output, os.environ)
    check_apart(output, place)
    with console.progress() as progress, held_cache(place):
        pulled = asyncio.run(
            pull(
                client,
                selection,
                place,
                keeping=keeping,
                allow_emptying=allow_emptying,
                progress=progress,
            )
        )
        exported = build(
            client,
            pulled,
            output,
            place,
            keeping=keeping,
            title=title,
            theme=theme,
            theme_options=options,
            templates=templates,
            mermaid=mermaid,
            markup=rendering,
            has_report=has_report,
            retries=retry,
            progress=progress,
        )
    return show_report(console, exported, is_strict=strict, as_json=as_json)


async def pull(
    client: Client,
    selection: Selection,
    cache: Path,
    *,
    keeping: Keeping | None = None,
    allow_emptying: bool = False,
    progress: Progress,
) -> Pulled:
    """Make the cache equal to the wikis; ``keeping`` knows those of the site.

    Interrupted, it leaves a cache that the next export finishes.

    Raises:
        WikisyncError: a named wiki cannot be had, or nothing more can be done.
    """
    from wikisync.cli.context import find_wikis
    from wikisync.cli.pulling import Place, pull_all
    from wikisync.sync.reconcile import Policy

    keeping = keeping or Keeping((), service_of(client))
    place = Place(
        private=cache,
        folder_of=lambda wiki: folder_in(cache, wiki.owner),
        policy=Policy.MIRROR,
        allow_emptying=allow_emptying,
    )
    async with client:
        progress.start("look for wikis", None)
        found = await find_wikis(client, selection, spared=keeping.options)
        await keeping.complete(client, found)
        pulled = await pull_all(
            client, found.wikis, place, progress, is_spared=keeping.holds
        )
    pulled.skipped[:0] = found.skipped
    return pulled


def build(
    client: Client,
    pulled: Pulled,
    output: Path,
    cache: Path,
    *,
    keeping: Keeping | None = None,
    title: str | None = None,
    theme: str = "default",
    theme_options: Mapping[str, object] | None = None,
    templates: Path | None = None,
    mermaid: Path | None = None,
    markup: MarkupOptions | None = None,
    has_report: bool = True,
    retries: bool = False,
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
    from wikisync.site.model import SiteOptions

    keeping = keeping or Keeping((), service_of(client))
    kept = _kept(client, keeping, pulled, output, cache)
    if not pulled.wikis and pulled.failed:
        raise pulled.failed[0].error
    if not pulled.wikis and not kept:
        raise UsageError(
            f"there is no wiki with pages to export on {client.address}",
            hint="select one with --project or --group, or use a token with more"
            " access",
        )
    sources = [_source(client, one) for one in pulled.wikis]
    sources += [copy for one in kept if (copy := one.source())]
    published = [one.wiki for one in kept if one.folder is None]
    if not sources:
        raise WikisyncError(
            f"no wiki of the site {output} could be read: {kept[0].reason}",
            hint="the site was not changed; fix the cause and export again",
        )
    options: SiteOptions = SiteOptions(
        title=title or site_title([*sources, *published], client),
        theme=theme,
        theme_options=theme_options or {},
        templates=templates,
        mermaid=mermaid,
        markup=markup or MarkupOptions(),
        has_report=has_report,
        retries=retries,
    )
    report = build_site(
        sources,
        output,
        options,
        cache=cache / SITE_FOLDER,
        may_leave=keeping.may_leave,
        kept=published,
        progress=progress,
    )
    now = time.time()
    # the build's problems hold those of its sources, each with its wiki's name
    problems = dict.fromkeys(
        [
            *((pulled.state_problem,) if pulled.state_problem else ()),
            *(one.problem(now) for one in kept),
            *_unread(pulled, kept),
            *keeping.problems,
            *report.problems,
        ]
    )
    return Exported(
        index=output / "index.html",
        pulled=pulled,
        kept=kept,
        notes=(*pulled.skipped, *keeping.notes),
        report=report,
        problems=tuple(problems),
    )


def _kept(
    client: Client, keeping: Keeping, pulled: Pulled, output: Path, cache: Path
) -> list[KeptWiki]:
    """The wikis of the site that were not read this time."""
    from wikisync.cli.pulling import STATE_FILE
    from wikisync.sync.state import State

    if not keeping.published:
        return []
    with State.open(cache / STATE_FILE, service_url=str(client.address)) as state:
        return keeping.kept(pulled, state, partial(folder_in, cache), output)


def _unread(pulled: Pulled, kept: Sequence[KeptWiki]) -> Iterator[Problem]:
    """Wikis that could not be read, and that the site never had."""
    known = {one.wiki.owner for one in kept}
    for failed in pulled.failed:
        if failed.wiki.owner not in known and not failed.is_refused:
            yield failed.problem()


def _source(client: Client, one: PulledWiki) -> WikiSource:
    """A wiki that was read, as the build takes it."""
    from wikisync.site.model import WikiOrigin, WikiSource

    wiki = one.wiki
    return WikiSource(
        owner=wiki.owner,
        title=wiki.title,
        folder=one.folder,
        web_url=wiki.web_url,
        visibility=wiki.visibility,
        description=wiki.description,
        placeholders=wiki.placeholders,
        origin=WikiOrigin(
            service=service_of(client),
            id=wiki.id,
            asked_by=wiki.asked_by,
            has_token=client.has_token,
            deletion_date=wiki.deletion_date,
        ),
        problems=one.result.problems,
    )


def site_title(wikis: Sequence[WikiSource | PublishedWiki], client: Client) -> str:
    """The wiki's own title, that of the group which all lie in, else the host."""
    from yarl import URL

    from wikisync.site.groups import common_group, group_titles

    if len(wikis) == 1:
        return wikis[0].title
    if group := common_group(wikis):
        return group_titles(wikis).get(group) or group.rpartition("/")[2]
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


def _published(output: Path) -> tuple[PublishedWiki, ...]:
    from wikisync.site.output import published_wikis

    return published_wikis(output)


def check_theme(
    theme: str,
    options: Mapping[str, object],
    templates: Path | None,
    mermaid: Path | None = None,
) -> None:
    """Refuse a theme that cannot be used before anything is read.

    Raises:
        SiteError: there is no such theme, option or script.
    """
    if theme == DEFAULT_THEME and not (options or templates or mermaid):
        # it came with this program; the build reads it soon enough
        return
    from wikisync.site.theme import load_theme

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
            hint="give --cache a separate folder; nothing was changed",
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
            "there is no home folder for the cache",
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
        error = folder_error("write to", str(exc.filename or folder), exc)
        step = "name another folder for the cache with --cache"
        error.hint = f"{error.hint}; or {step}" if error.hint else step
        raise error from exc


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
            hint="choose an empty folder with --cache; nothing was changed",
        )


def folder_in(cache: Path, owner: WikiOwner) -> Path:
    """Where the cache keeps a wiki."""
    return cache / WIKIS_FOLDER / folder_name(owner)


def folder_name(owner: WikiOwner) -> str:
    """A wiki's folder in the cache; paths of the service are not names of files."""
    return f"{owner.kind}-{hashlib.sha256(owner.full_path.encode()).hexdigest()[:24]}"


# -- the report --------------------------------------------------------------------


def show_report(
    console: Console,
    exported: Exported,
    *,
    is_strict: bool = False,
    as_json: bool = False,
) -> int:
    """Print what an export did and give its exit code."""
    from wikisync.cli.pulling import show_problems
    from wikisync.cli.site_report import show_broken_links

    show_problems(console, exported.problems, exported.notes)
    console.problems(_refused(exported))
    if as_json:
        console.result(json.dumps(_as_json(exported), ensure_ascii=False, indent=2))
    else:
        show_broken_links(console, exported.report, is_strict=is_strict)
        console.result(_summary(exported))
    if is_strict and (
        exported.problems or _refused(exported) or exported.report.broken_links
    ):
        return ExitCode.FAILED
    return ExitCode.HELD if exported.problems else ExitCode.DONE


def _refused(exported: Exported) -> list[Problem]:
    """Wikis that are not for this token, and that the site never had."""
    kept = {str(one.wiki.owner) for one in exported.kept}
    return [one for one in exported.pulled.refused if one.subject not in kept]


def _summary(exported: Exported) -> str:
    from wikisync.cli.sentences import counted
    from wikisync.cli.site_report import site_summary

    pages = counted(exported.report.pages, "page")
    wikis = counted(len(exported.pulled.wikis) + len(exported.kept), "wiki")
    if exported.kept:
        wikis += f", {len(exported.kept)} of them kept from the last export"
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
        "kept": [_kept_as_json(one) for one in exported.kept],
        "skipped": [
            problem_as_json(note) for note in (*exported.notes, *_refused(exported))
        ],
        "problems": [problem_as_json(problem) for problem in exported.problems],
    }


def _kept_as_json(one: KeptWiki) -> dict[str, object]:
    return {
        "kind": one.wiki.kind,
        "path": one.wiki.path,
        "pages": one.wiki.pages,
        "reason": one.reason,
        "from": "cache" if one.folder else "site",
        "read_at": one.read_at,
    }
