"""What keeps a workspace from syncing: its folders, disk and state, and the service."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import partial

from msgspec import Struct

from wikisync.api.client import Client
from wikisync.config.sections import WikiSection
from wikisync.core.layout import TRASH_FOLDER
from wikisync.core.system.libc import check_watches_left
from wikisync.core.system.parallel import WIKIS_AT_ONCE, gather
from wikisync.core.terminal import one_line
from wikisync.errors import FolderError, Halted, WikisyncError, command_line
from wikisync.folder.safe_open import folder_error, refused_write
from wikisync.folder.trash import KEPT_BYTES, KEPT_DAYS, Trash
from wikisync.folder.workspace import (
    WATCH,
    StateMatch,
    holder_of,
    refuse_emptied,
    refuse_network_disk,
    refuse_overlaps,
    state_match,
)
from wikisync.sync.run.parts import FolderMatch
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.rights import Notify, TokenRights, check_token, check_wikis
from wikisync.workspace.sentences import OTHER_FOLDER, counted


class Grade(StrEnum):
    """How bad it is."""

    FINE = "fine"
    LOOK = "look"
    """A person may want to do something about it."""
    WRONG = "wrong"


class Finding(Struct, frozen=True):
    """One thing that was checked."""

    grade: Grade
    sentence: str
    next_step: str = ""

    @classmethod
    def of(
        cls, error: WikisyncError, grade: Grade = Grade.WRONG, *, at: str = ""
    ) -> Finding:
        """What an error says, of a wiki where ``at`` names one."""
        sentence = f"{at}: {error.message}" if at else error.message
        return cls(grade, sentence, error.hint or "")


fine = partial(Finding, Grade.FINE)
doubtful = partial(Finding, Grade.LOOK)
MEGABYTE = 1_000_000


def check_disk(workspace: ConfiguredWorkspace) -> Iterator[Finding]:
    """The workspace's folder: its disk, what overlaps, who holds it."""
    root = workspace.root
    folders = [workspace.folder_of(wiki) for wiki in workspace.config.wikis]
    try:
        refuse_overlaps(root, folders)
    except FolderError as error:
        yield Finding.of(error)
    try:
        kind = refuse_network_disk(root)
        named = f" ({kind})" if kind else ""
        yield fine(f"{root} is on a local disk{named}")
    except FolderError as error:
        yield Finding.of(error, Grade.LOOK)
    holder = holder_of(workspace.private)
    if holder is None:
        yield fine("no other wikisync is running in it")
    elif holder.startswith(WATCH):
        yield fine(holder)
    else:
        yield fine(f"another wikisync is running: {holder}")
    if not sys.platform.startswith("linux"):
        return
    try:
        check_watches_left(str(root))
        yield fine("inotify watches are available, so saves are detected immediately")
    except OSError as exc:
        yield doubtful(
            f"saves are not detected immediately: {exc.strerror or exc}",
            "raise the limit: sysctl fs.inotify.max_user_watches=524288",
        )


def check_state(opened: OpenWorkspace) -> Iterator[Finding]:
    """The state file and the trash."""
    private = opened.workspace.private
    yield from (doubtful(notice) for notice in opened.notices())
    try:
        matched = state_match(private, opened.identity)
    except WikisyncError as error:
        yield Finding.of(error)
    else:
        if matched is StateMatch.NEW:
            yield fine("the workspace has not been synced yet")
        elif matched is StateMatch.SAME:
            yield fine("the marker belongs to this workspace")
        elif not opened.is_shared:
            yield doubtful(
                "the workspace was copied or moved; the next sync deletes nothing",
                "if this copy is a mistake, stop syncing one of the two",
            )
    if opened.is_adopting:
        yield doubtful(
            "the next sync accepts the folders as they are; it deletes nothing"
        )
    for path in sorted(private.glob("state.db.set-aside-*")):
        yield doubtful(
            f"an unusable state file was set aside: {path}",
            "delete it when everything works",
        )
    size = 0
    with suppress(FileNotFoundError):
        size = opened.state.path.stat().st_size
    try:
        for wiki in opened.workspace.config.wikis:
            opened.known(wiki).read_through()
    except WikisyncError as error:
        yield Finding.of(error)
    else:
        yield fine(f"the state is readable ({size / MEGABYTE:.1f} MB)")
    for wiki in opened.workspace.config.wikis:
        entries = Trash(private / TRASH_FOLDER, wiki=wiki.folder).entries()
        size = sum(entry.size for entry in entries)
        yield fine(
            f"{wiki.folder}: {counted(len(entries), 'text')} in the trash"
            f" ({size / MEGABYTE:.1f} of {KEPT_BYTES / MEGABYTE:.0f} MB,"
            f" {KEPT_DAYS} days)"
        )


def check_folder(opened: OpenWorkspace, wiki: WikiSection) -> Iterator[Finding]:
    """One wiki's folder: what is in it, and what its disk can do."""
    folder = opened.workspace.folder_of(wiki)
    known = opened.known(wiki)
    name = wiki.folder
    try:
        refuse_emptied(folder, known_pages=len(known.base()))
        if not folder.exists():
            yield fine(f"{name}: the first sync creates the folder")
            return
        here = asyncio.run(opened.local(wiki).snapshot())
        is_other = opened.match_of(wiki) is FolderMatch.OTHER
    except (FolderError, Halted) as error:
        # what guards a sync against it does not once a person said to go on
        is_empty = isinstance(error, Halted) or not folder.exists()
        if opened.is_adopting and is_empty:
            yield fine(f"{name}: no pages here; the next sync downloads them again")
        else:
            yield Finding.of(error, at=name)
        return
    yield fine(f"{name}: {counted(len(here.pages), 'page')} here")
    if is_other:
        yield doubtful(
            f"{name}: {OTHER_FOLDER}",
            "if it is the wrong folder, restore the right one before the next sync",
        )
    for problem in here.problems:
        grade = Grade.FINE if problem.is_note else Grade.LOOK
        yield Finding(grade, f"{name}: {problem}", problem.hint)
    for path in (folder, opened.workspace.private):
        if path.exists() and (refused := refused_write(path, MEGABYTE)):
            yield Finding.of(folder_error("write in", str(path), refused), at=name)
    if known.memory.paused is not None:
        because = f" ({known.memory.paused})" if known.memory.paused else ""
        resume = command_line("resume", name)
        yield doubtful(f"{name}: paused{because}", resume)
    for slug, record in known.conflict_files().items():
        if not record.has_file:
            yield doubtful(
                f"{name}/{slug} is held, and its conflict file could not be written",
                f"see {command_line('status', name)}",
            )
    if problem_now := known.memory.health.problem:
        yield doubtful(
            f"{name}: the last sync had a problem: {problem_now}",
            f"see {command_line('status', name)}",
        )


# -- the service -------------------------------------------------------------------


EXPIRY_DAYS = 14


async def check_there(
    opened: OpenWorkspace, token: str | None, notify: Notify = None
) -> AsyncIterator[Finding]:
    """The service, the token, and what it may do with each wiki."""
    url = opened.workspace.config.service.url
    try:
        service = await check_token(url, token, notify)
    except WikisyncError as error:
        yield Finding.of(error)
        return
    version = f" {service.version}" if service.version else ""
    yield fine(f"{url} answers as a GitLab-compatible service{version}")
    for finding in token_findings(service.token, datetime.now(tz=UTC).date()):
        yield finding

    async def of_wiki(wiki: WikiSection) -> Sequence[Finding]:
        is_project = wiki.kind == "project"
        try:
            async with Client(service.url, token, notify=notify) as client:
                found = await find_wiki(opened.state, client, wiki)
            paths = (str(found.id),)
            selection = Selection(
                paths if is_project else (), () if is_project else paths
            )
            rights, notes = await check_wikis(service, token, selection, notify)
        except WikisyncError as error:
            return [Finding.of(error, at=wiki.folder)]
        name = wiki.folder
        findings = [
            doubtful(f"{name}: {problem.message}", problem.hint)
            for problem in (*found.warnings, *found.notes)
        ]
        for one in rights:
            grade = Grade.FINE if one.writes is not False else Grade.LOOK
            step = "" if grade is Grade.FINE else "wikisync sync --pull downloads edits"
            findings.append(Finding(grade, f"{name}: {one.sentence()}", step))
        findings += [doubtful(f"{name}: {n.message}", n.hint) for n in notes]
        known = opened.known(wiki).memory.capabilities
        if formats := ", ".join(sorted(known.strips_front_matter_of)):
            kept = f"of {formats} pages; the file here keeps it"
            findings.append(
                fine(f"{name}: the service removes the front matter {kept}")
            )
        if not known.takes_empty:
            held = "the service does not accept empty pages; they are held"
            findings.append(fine(f"{name}: {held}"))
        return findings

    wikis = opened.workspace.config.wikis
    for findings in await gather(wikis, of_wiki, in_flight=WIKIS_AT_ONCE):
        for finding in findings:
            yield finding


def token_findings(token: TokenRights | None, today: date) -> Iterator[Finding]:
    """What the service says of the token."""
    if token is None:
        yield doubtful(
            "there is no token: public wikis can be read, and nothing can be written",
            "set WIKISYNC_TOKEN, or token_command in wikisync.toml",
        )
        return
    whose = f' "{one_line(token.name)}"' if token.name else ""
    whose += f" of {one_line(token.user)}" if token.user else ""
    if token.writes is False:
        yield doubtful(
            f"the token{whose} does not have the scope api; it can only read",
            "create a token with the scope api to upload edits",
        )
    else:
        scopes = f" (scopes {', '.join(token.scopes)})" if token.scopes else ""
        silent = "" if token.scopes else "the service does not report its scopes"
        unknown = f"; {why}" if (why := token.unknown or silent) else ""
        until = f" until {token.expires_on}" if token.expires_on else ""
        yield fine(f"the token{whose} is valid{until}{scopes}{unknown}")
    left = (token.expires_on - today).days if token.expires_on else None
    if left is not None and left <= EXPIRY_DAYS:
        yield doubtful(
            f"the token ends in {counted(max(0, left), 'day')}",
            "create a new one before that",
        )
