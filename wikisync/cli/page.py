"""``wikisync page``: single pages of a wiki, without a workspace."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import click
from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.wikis import Wiki
from wikisync.cli import service_command
from wikisync.cli.options import InputPath, flag, give_examples, joined
from wikisync.cli.project import YES, confirm
from wikisync.cli.service_command import Columns, Connection, as_plain, report
from wikisync.contract.schema import CommentRecord, WikiPageRecord
from wikisync.core.model import WRITABLE_FORMATS, Format
from wikisync.errors import NotFound, UsageError
from wikisync.markup.frontmatter import split_front_matter, text_without
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.page_files import STDIN, Source, read_text
from wikisync.workspace.rights import resolve_address
from wikisync.workspace.service import Credentials

T = TypeVar("T")

PAGE_COLUMNS: Columns = {
    "slug": lambda page: page.slug,
    "format": lambda page: page.format,
    "title": lambda page: page.title or "",
}
COMMENT_COLUMNS: Columns = {
    "id": lambda comment: comment.id,
    "author": lambda comment: comment.author.username if comment.author else "",
    "created": lambda comment: (comment.created_at or "")[:16].replace("T", " "),
    "text": lambda comment: comment.body,
}
WIKI_PAGES = "/-/wikis"
"""In an address: before it is the project or group, behind it the page."""
SLUG = click.argument("slug")
FORMAT = click.option(
    "--format",
    "page_format",
    type=click.Choice(sorted(known.value for known in WRITABLE_FORMATS)),
    help="Markup of the page.",
)
COMMIT = click.option("--message", help="Message of the commit.")
FRONT_MATTER = click.option(
    "--front-matter-title",
    metavar="TITLE",
    help="Title that the page shows, in front matter before its text.",
)


@click.group(
    "page",
    epilog="Example: wikisync page list https://gitlab.example.com"
    " --project docs/handbook",
)
def command() -> None:
    """List, read and change the pages of one wiki.

    Select the wiki with --project or --group, and the service with the first argument,
    --url or $WIKISYNC_URL. The address of a page, as a browser shows it, selects all of
    them. In a workspace, service and wiki are known.
    """


class PageCommand(service_command.WorkspaceCommand):
    """A command on one wiki, which the address of its page names with the page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read ``URL/-/wikis/SLUG``, as a browser shows it, as its parts."""
        words = service_command.word_places(self, args)
        for place in words if not service_command.names_url(args) else ():
            address, is_page, rest = args[place].partition(WIKI_PAGES)
            if "://" not in address or not is_page:
                continue
            names_page = any(one.name in {"slug", "title"} for one in self.params)
            slug = unquote(rest.partition("?")[0].partition("#")[0]).strip("/")
            named = [slug] if names_page and slug and len(words) == 1 else []
            others = args[:place] + named + args[place + 1 :]
            return super().parse_args(ctx, [*_wiki_words(address), *others])
        return super().parse_args(ctx, args)


def _wiki_words(address: str) -> list[str]:
    """Options that name a wiki by its address; its token may be the workspace's."""
    if service_command.is_in_workspace():
        service = ServiceAddress.parse(find_workspace(Path()).config.service.url)
        with suppress(UsageError):
            path = service.path_of(address)
            is_group = address.rstrip("/").endswith(f"/groups/{path}")
            return ["--group" if is_group else "--project", path]
    return ["--url", f"{address}{WIKI_PAGES}"]


def _ask(connection: Connection, operate: Callable[[Wiki], Awaitable[T]]) -> T:
    """Do one operation on the wiki."""
    owner = connection.owner
    assert owner is not None, "a command on a wiki names one"
    return service_command.speak(
        connection, lambda client: operate(Wiki(client, owner))
    )


def _connect(
    project: str | None,
    group: str | None,
    url: str,
    credentials: Credentials,
    *,
    dry_run: bool = False,
) -> Connection:
    """The wiki that is meant, and its service, which its address may name as well."""
    connection = service_command.connect(url, credentials, dry_run=dry_run)
    here = service_command.wiki_here()
    if project is None and group is None and here is not None:
        return replace(connection, owner=here)
    named = Selection(
        projects=() if project is None else (project,),
        groups=() if group is None else (group,),
    )
    if WIKI_PAGES in url or named == Selection():

        def token_for(url: str) -> str | None:
            return service_command.token_of(replace(connection, url=url))

        notify = connection.console.note
        url, named = asyncio.run(resolve_address(url, named, token_for, notify))
    owner = named.named(ServiceAddress.parse(url)).only()
    if owner is None:
        raise UsageError(
            "select one wiki",
            hint="add --project PATH or --group PATH, or run it in a wiki's folder",
        )
    return replace(connection, url=url, owner=owner)


def _read_text(content: str | None, file: Path | None) -> str | None:
    if content is not None and file is not None:
        raise UsageError(
            "--content and --file cannot be given together", hint="remove one of them"
        )
    if file is None:
        return content
    root = None if str(file) == STDIN else file.parent
    return read_text(Source(str(file), file.name, root))


TEXT = joined(
    "text",
    _read_text,
    click.option("--content", metavar="TEXT", help="Text of the page."),
    click.option(
        "--file",
        type=InputPath("file", allow_dash=True),
        metavar="FILE",
        help="File with the text of the page; - for standard input.",
    ),
)


WIKI = (
    click.option("--project", metavar="PATH", help="Wiki of this project."),
    click.option("--group", metavar="PATH", help="Wiki of this group."),
)
read = partial(
    service_command.command_of, command, where=_connect, wiki=WIKI, kind=PageCommand
)
write = partial(read, is_write=True)


# -- the commands ------------------------------------------------------------------


@read(flag("--with-content", help="Include the texts; use with --json."))
def _run_list(connection: Connection, *, with_content: bool) -> None:
    """List the pages of a wiki."""
    pages = _ask(connection, lambda wiki: wiki.list_pages(with_content=with_content))
    service_command.show_records(connection, PAGE_COLUMNS, pages, len(pages))


@read(
    SLUG,
    flag("--html", help="Print the service's HTML instead."),
    click.option("--version", metavar="SHA", help="Print the version at this commit."),
)
def _run_get(
    connection: Connection, slug: str, *, html: bool, version: str | None
) -> None:
    """Print the text of the page SLUG."""
    page = _ask(
        connection, lambda wiki: wiki.get_page(slug, render_html=html, version=version)
    )
    if connection.console.as_json:
        connection.console.json(as_plain(page))
    elif page.content:
        connection.console.result(page.content)


@read(SLUG)
def _run_comments(connection: Connection, slug: str) -> None:
    """List the comments on the page SLUG."""

    async def read(wiki: Wiki) -> tuple[CommentRecord, ...]:
        page = await wiki.get_page(slug)
        if page.wiki_page_meta_id is None:
            raise NotFound(
                f"cannot list the comments on page {page.slug} of {connection.owner}:"
                " the service has no ids of pages",
                hint="comments can be read from services of version 18 on",
            )
        return await wiki.list_comments(page.wiki_page_meta_id)

    comments = _ask(connection, read)
    service_command.show_records(connection, COMMENT_COLUMNS, comments, len(comments))


@write(click.argument("title"), TEXT, FORMAT, FRONT_MATTER, COMMIT)
def _run_create(
    connection: Connection,
    title: str,
    *,
    text: str | None,
    page_format: str | None,
    front_matter_title: str | None,
    message: str | None,
) -> None:
    """Create a page; its slug is made from TITLE, directories included."""
    if text is None:
        raise UsageError(
            f"page {title} has no text",
            hint="add --content TEXT or --file FILE (- is standard input)",
        )
    chosen = Format(page_format) if page_format else Format.MARKDOWN
    if front_matter_title:
        text = _without_title(title, text)

    def create(wiki: Wiki) -> Awaitable[WikiPageRecord]:
        return wiki.create_page(
            title, text, chosen, message=message, front_matter_title=front_matter_title
        )

    page = _ask(connection, create)
    report(connection, page, f"created page {page.slug} of {connection.owner}")


@write(
    SLUG,
    click.option("--title", help="New title, with directories; renames the page."),
    TEXT,
    FORMAT,
    FRONT_MATTER,
    COMMIT,
    click.option(
        "--last-commit-sha",
        metavar="SHA",
        help="Refuse the edit if the page changed after this commit.",
    ),
)
def _run_edit(
    connection: Connection,
    slug: str,
    *,
    title: str | None,
    text: str | None,
    page_format: str | None,
    front_matter_title: str | None,
    message: str | None,
    last_commit_sha: str | None,
) -> None:
    """Change the page SLUG; only the given fields change."""
    if not any((title, page_format, front_matter_title)) and text is None:
        raise UsageError(
            f"no change is given for page {slug}",
            hint="add --content, --file, --title, --front-matter-title or --format",
        )

    async def edit(wiki: Wiki) -> WikiPageRecord:
        page = await wiki.get_page(slug)
        new_text = (page.content or "") if text is None else text
        if front_matter_title:
            new_text = _without_title(page.slug, new_text)
        return await wiki.edit_page(
            page.slug,
            title=page.slug if title is None else title,
            content=new_text,
            format=Format(page_format or page.format),
            message=message,
            front_matter_title=front_matter_title,
            last_commit_sha=last_commit_sha,
        )

    edited = _ask(connection, edit)
    report(connection, edited, f"edited page {edited.slug} of {connection.owner}")


def _without_title(page: str, text: str) -> str:
    """The text without front matter, which a new title takes the place of."""
    keys = split_front_matter(text.replace("\r\n", "\n")).meta.keys() - {"title"}
    if keys:
        raise UsageError(
            f"the text of page {page} has front matter with {', '.join(sorted(keys))},"
            " which the service would not keep",
            hint="write the title into the front matter, and give the text with --file",
        )
    return text_without(text)


@write(SLUG, YES)
def _run_delete(connection: Connection, slug: str, *, yes: bool) -> None:
    """Delete the page SLUG; pages below it are kept."""
    if not connection.is_dry_run and not yes:
        confirm(
            f"Delete page {slug} of {connection.owner}?",
            f"deleting page {slug} needs confirmation",
        )

    async def delete(wiki: Wiki) -> dict[str, str]:
        await wiki.delete_page(slug)
        return {"slug": slug}

    deleted = _ask(connection, delete)
    report(connection, deleted, f"deleted page {slug} of {connection.owner}")


@write(
    click.argument("file", type=InputPath("file")),
    click.option("--name", help="File name in the wiki. [default: the name of FILE]"),
    click.option("--branch", help="Branch of the wiki's repository."),
)
def _run_attach(
    connection: Connection, file: Path, *, name: str | None, branch: str | None
) -> None:
    """Upload FILE to the wiki; prints the link for a page."""
    attached = _ask(
        connection,
        lambda wiki: wiki.upload_attachment(file, name or file.name, branch=branch),
    )
    link = attached.link
    shown = link.markdown if link and link.markdown else attached.file_path
    report(connection, attached, shown)


give_examples(
    command,
    "page {} https://gitlab.example.com/docs/handbook{}",
    "/-/wikis/home",
    {
        "attach": " logo.png",
        "create": ' "Getting started" --file start.md',
        "edit": "/-/wikis/home --file home.md",
        "list": "",
    },
)
