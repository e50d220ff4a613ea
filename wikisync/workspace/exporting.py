"""Wikis of a service to a static website: copies in a mirror, then a build of them."""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.contract.schema import WikiPageRecord
from wikisync.core.messages import Progress
from wikisync.core.model import Problem, Slug
from wikisync.core.system.parallel import gather
from wikisync.errors import NotFound, RemoteError, UsageError, WikisyncError
from wikisync.site import model
from wikisync.site.build import build_site
from wikisync.site.frame import common_group, group_titles
from wikisync.site.manifest import published_wikis
from wikisync.site.mirror import Mirror, open_mirror
from wikisync.site.model import NO_BOOKS, BookRequest
from wikisync.site.output import open_output
from wikisync.site.theme import load_theme
from wikisync.workspace.discovery import Selection, find_wikis
from wikisync.workspace.folders import Built, check_apart, default_cache, held_cache
from wikisync.workspace.keeping import Keeping, KeptWiki
from wikisync.workspace.mirroring import Mirroring
from wikisync.workspace.pulled import Pulled, pull_all
from wikisync.workspace.service import Credentials

SITE_FOLDER = "site"
COMMENTS_AT_ONCE = 8
DEFAULT_THEME = "default"


class Exported(Built, frozen=True, kw_only=True):
    """What one export did."""

    pulled: Pulled
    kept: list[KeptWiki]
    """Wikis of the site that could not be read, and are as they were read last."""
    notes: tuple[Problem, ...]
    """Wikis that are not in the site because there is nothing to publish."""


class ExportRequest(Struct, frozen=True):
    """What a person asks of one export."""

    url: str
    """The service, or a page of a wiki, project or group there."""
    output: Path | None
    selection: Selection = Selection()
    site: model.SiteOptions = model.SiteOptions(title="")
    """Without a title for the wiki's own, or that of their group."""
    books: BookRequest = NO_BOOKS
    cache: Path | None = None
    """None for a folder of this service and output below the user's cache."""
    allow_emptying: bool = False
    """Most of a wiki, or all of it, may leave the site."""
    replaces: bool = False
    """Wikis that the selection does not mean leave the site."""
    is_anonymous: bool = False
    """An export without a token may follow one with a token."""
    comments: bool = False
    verify: bool = False


def export_wikis(request: ExportRequest, credentials: Credentials) -> Exported:
    """Make the site of the wikis that are meant, or bring it up to date, or leave it.

    UsageError where the site would lose a wiki, Halted where a stop left none to show.
    """
    from wikisync.site.book.writing import check_books  # slow to load

    output = request.output
    if output:
        check_output(output)
    check_books(request.books)
    client, selection = credentials.open_selected(request.url, request.selection)
    published = published_wikis(output) if output else ()
    keeping = Keeping(
        [wiki for wiki in published if wiki.pages],
        str(client.address),
        replaces=request.replaces,
        allow_emptying=request.allow_emptying,
    )
    keeping.refuse_without_token(client, is_anonymous=request.is_anonymous)
    site = request.site
    # without options, the build reads the theme that came with this program soon enough
    if site.theme != DEFAULT_THEME or site.theme_options or site.templates:
        load_theme(site.theme, project=site.templates, options=site.theme_options)
    made = output or request.books.files[0][1]
    cache = request.cache or default_cache(str(client.address), made, credentials.env)
    check_apart(made, cache)
    with (
        credentials.messages.progress() as progress,
        held_cache(cache),
        open_mirror(cache) as mirror,
    ):
        mirroring = Mirroring(
            client, mirror, allow_emptying=request.allow_emptying, verify=request.verify
        )
        reading = pull(
            client, selection, mirroring, keeping, progress, comments=request.comments
        )
        return build(request, client, asyncio.run(reading), mirror, keeping, progress)


async def pull(
    client: Client,
    selection: Selection,
    mirroring: Mirroring,
    keeping: Keeping,
    progress: Progress,
    *,
    comments: bool = False,
) -> Pulled:
    """Make the copies equal to the wikis; ``keeping`` knows those of the site."""
    async with client:
        progress.start("find wikis", None)
        found = await find_wikis(client, selection, spared=keeping.options)
        await keeping.complete(client, found)
        pulls = mirroring.pulls(found.wikis)
        pulled = await pull_all(client, pulls, progress, is_spared=keeping.holds)
        if comments:
            progress.start("read comments", None)
            pulled.wikis[:] = [
                replace(one, wiki=await _with_comments(client, one.wiki))
                for one in pulled.wikis
            ]
    pulled.skipped[:0] = found.skipped
    return pulled


async def _with_comments(client: Client, one: model.WikiSource) -> model.WikiSource:
    """A wiki with the comments on its pages; without them is a problem of it."""
    wiki = Wiki(client, one.owner, one.origin.id)

    async def of_page(page: WikiPageRecord) -> tuple[model.PageComment, ...] | NotFound:
        if page.wiki_page_meta_id is None:
            raise NotFound("the service has no ids of pages, which version 18 brought")
        try:
            found = await wiki.list_comments(page.wiki_page_meta_id)
        except NotFound as error:
            return error  # of one page: somebody removed it since it was listed
        # what only members may read is for no copy
        return tuple(
            model.PageComment(
                (note.author.name or note.author.username) if note.author else "",
                _in_utc(note.created_at),
                note.body,
            )
            for note in found
            if not note.internal and not note.confidential
        )

    try:
        pages = sorted(await wiki.list_pages(), key=lambda page: page.slug)
        found = await gather(pages, of_page, in_flight=COMMENTS_AT_ONCE)
        gone = [one for one in found if isinstance(one, NotFound)]
        if gone and len(gone) == len(pages):
            raise gone[0]
    except RemoteError as error:
        message = f"its comments could not be read: {error.message}"
        problem = Problem("comments-unread", str(one.owner), message, error.hint or "")
        return replace(one, problems=(*one.problems, problem))
    comments = {
        Slug(page.slug): notes
        for page, notes in zip(pages, found, strict=True)
        if notes and not isinstance(notes, NotFound)
    }
    return replace(one, comments=comments)


def _in_utc(stamp: str | None) -> str:
    """A time stamp of the service as a comment has it; empty for what is none."""
    try:
        moment = datetime.fromisoformat(stamp or "")
    except ValueError:
        return ""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M") if moment.tzinfo else ""


def build(
    request: ExportRequest,
    client: Client,
    pulled: Pulled,
    mirror: Mirror,
    keeping: Keeping,
    progress: Progress,
) -> Exported:
    """Make the site of what was pulled; UsageError where that is no wiki with pages."""
    from wikisync.site.book.writing import with_books  # slow to load

    output, books = request.output, request.books
    kept = keeping.kept(pulled, mirror, output) if output else []
    if not pulled.wikis and pulled.failed:
        raise pulled.failed[0].error
    if not pulled.wikis and not kept:
        raise UsageError(
            f"there is no wiki with pages to export on {client.address}",
            hint="select one with --project or --group, or use a token with more"
            " access",
        )
    sources = [one.wiki for one in pulled.wikis]
    sources += [one.source(mirror.folder) for one in kept if one.copy]
    published = [one.wiki for one in kept if not one.copy]
    if not sources:
        raise WikisyncError(
            f"no wiki of the site {output} could be read: {kept[0].reason}",
            hint="the site was not changed; fix the cause and export again",
        )
    title = request.site.title or site_title([*sources, *published], client)
    options, cache = replace(request.site, title=title), mirror.folder / SITE_FOLDER
    site = None
    if output:
        site = build_site(
            sources,
            output,
            options,
            cache=cache,
            may_leave=keeping.may_leave,
            kept=published,
            progress=progress,
        )
    report = with_books(site, sources, books, options, cache=cache, progress=progress)
    mirror.sweep()
    now, known = time.time(), {one.wiki.owner for one in kept}
    # wikis that could not be read, and that the site never had
    unread = (
        one.problem()
        for one in pulled.failed
        if one.wiki.owner not in known and not one.is_refused
    )
    # the build's problems hold those of its sources, each with its wiki's name
    of_kept = [one.problem(now) for one in kept]
    every = dict.fromkeys([*of_kept, *unread, *keeping.problems, *report.problems])
    return Exported(
        index=output / "index.html" if output else books.files[0][1],
        pulled=pulled,
        kept=kept,
        notes=(*pulled.skipped, *keeping.notes),
        report=report,
        problems=tuple(every),
        books=books,
    )


def site_title(wikis: Sequence[model.WikiInfo], client: Client) -> str:
    """The wiki's own title, that of the group which all lie in, else the host."""
    from yarl import URL

    if len(wikis) == 1:
        return wikis[0].title
    if group := common_group(wikis):
        return group_titles(wikis).get(group) or group.rpartition("/")[2]
    # a person reads it: not in the ASCII that it is sent in
    return URL(client.address.origin).host or client.address.host


def check_output(output: Path) -> None:
    """Refuse a folder that no site may be written to before anything is read."""
    # lexists never raises: open_output reports a name that is too long
    is_new = not os.path.lexists(output)
    open_output(output)
    if is_new:
        # nothing is left behind should the wikis turn out to be out of reach
        with suppress(OSError):
            output.rmdir()
