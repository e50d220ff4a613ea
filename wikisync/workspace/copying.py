"""A wiki from one service to another, with its attachments, for ``wikisync copy``.

Two workspaces in the cache do it: the first one is a clone of the source, the second
one has the same pages and is pushed to the target.  Attachments become loose files
beside the pages there, so that the sync uploads them and names them as the target does.
The next copy goes on from both: what changed in the source is pushed; a page that was
edited in the target, too, is held as in any sync.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from wikisync.api.client import Client
from wikisync.config import FILE_NAME, Config, ServiceSection, WikiSection
from wikisync.config.reading import render_config
from wikisync.core.layout import PRIVATE_FOLDER
from wikisync.core.messages import Messages
from wikisync.core.model import Format, PagePath
from wikisync.errors import PreconditionFailed, UsageError
from wikisync.folder.safe_open import make_folder, read_below
from wikisync.folder.scan import scan_pages
from wikisync.folder.swap import OWNERS, write_atomically
from wikisync.folder.workspace import adopt, locked
from wikisync.sync.decide.narrowing import Direction
from wikisync.workspace.cloning import clone
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.creating import agree_to_new
from wikisync.workspace.discovery import Selection
from wikisync.workspace.pulled import PulledWiki
from wikisync.workspace.sync_run import SyncRequest, SyncRun, sync_workspace

SOURCE, TARGET, FOLDER = "source", "target", "wiki"
ATTACHMENTS = "attachments"
"""In the second workspace, in place of ``uploads``."""
MENTION = re.compile(
    r"(?P<wiki>\[\[)?(?<![\w/.%-])(?:\.{1,2}/)*uploads/(?P<hash>[0-9a-f]{32})(?=/)"
)
FILE_BYTES_MAX = 512 * 1024 * 1024


class Copied(Struct, frozen=True):
    """What a copy did, or would do."""

    source: PulledWiki
    run: SyncRun
    target: WikiSection


def one_wiki(selection: Selection) -> WikiSection:
    """The only wiki of a selection; UsageError where there are others, or none."""
    found = [("project", path) for path in selection.projects]
    found += [("group", path) for path in selection.groups]
    if len(found) != 1 or selection.is_all:
        raise UsageError(
            "a copy has one source and one target",
            hint="give the address of a project's or group's wiki for each",
        )
    kind, path = found[0]
    return WikiSection("project" if kind == "project" else "group", path, FOLDER)


async def copy_wiki(
    source: Client,
    selection: Selection,
    target: Client,
    target_wiki: WikiSection,
    work: Path,
    messages: Messages,
    *,
    token_file: Path | None,
    env: Mapping[str, str],
    is_dry_run: bool,
) -> Copied:
    """Clone the source, and push what it has to the target; only then if it is real.

    Interrupted, it leaves whole pages; the next copy goes on from there.
    """
    one_wiki(selection)
    with messages.progress() as progress:
        cloned = await clone(source, selection, work / SOURCE, progress=progress)
    if not cloned.wikis:
        raise UsageError(
            f"the wiki of {[*selection.projects, *selection.groups][0]} has no pages"
            " that this token can read"
        )
    root = work / TARGET
    _prepare(root, target, target_wiki)
    _carry(cloned.wikis[0].folder, root / FOLDER)
    request = SyncRequest(direction=Direction.PUSH, adopt="push", is_dry_run=is_dry_run)
    run = await sync_workspace(
        find_workspace(root), (), request, token_file, messages, env
    )
    return Copied(cloned.wikis[0], run, target_wiki)


def _prepare(root: Path, target: Client, wiki: WikiSection) -> None:
    """Make the workspace of the target, unless it is there."""
    if (root / FILE_NAME).exists():
        return
    config = Config(
        service=ServiceSection(url=str(target.address).rstrip("/")), wikis=(wiki,)
    )
    make_folder(root / FOLDER)
    with locked(root / PRIVATE_FOLDER, f"the workspace {root}"):
        adopt(root / PRIVATE_FOLDER)
        text = render_config(config)
        write_atomically(root, FILE_NAME, text.encode(), modes=OWNERS)
    agree_to_new(root, config)


def _carry(source: Path, target: Path) -> None:
    """Put the pages and files of the clone into the folder of the target."""
    scanned = scan_pages(source)
    hashes = {path.split("/")[1] for path in scanned.attachments}
    for page in scanned.pages:
        content = read_below(source, page.path, FILE_BYTES_MAX)
        _write(target, page.path, _converted(content, page.path, page.format, hashes))
    for path in (*scanned.attachments, *scanned.loose):
        to = re.sub(r"\Auploads/", f"{ATTACHMENTS}/", path)
        _write(target, to, read_below(source, path, FILE_BYTES_MAX))


def _write(target: Path, path: str, content: bytes) -> None:
    with suppress(FileNotFoundError):
        if read_below(target, path, FILE_BYTES_MAX) == content:
            return
    with suppress(PreconditionFailed):
        write_atomically(target, PagePath(path), content)


def _converted(
    content: bytes, path: str, page_format: Format, hashes: Collection[str]
) -> bytes:
    """A page whose attachments are loose files; links start where the service does."""
    up = "../" * path.count("/")

    def moved(found: re.Match[str]) -> str:
        if found["hash"] not in hashes:
            return found[0]
        is_from_root = found["wiki"] and page_format is Format.MARKDOWN
        way = "" if is_from_root else up
        return f"{found['wiki'] or ''}{way}{ATTACHMENTS}/{found['hash']}"

    text = content.decode("utf-8", "surrogateescape")
    return MENTION.sub(moved, text).encode("utf-8", "surrogateescape")
