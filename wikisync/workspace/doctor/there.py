"""What ``doctor`` finds about the service: version, clock, token, rights, its ways."""

import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

from wikisync.api.client import Client
from wikisync.api.request import Request
from wikisync.config import WikiSection
from wikisync.contract import routes
from wikisync.core.system.parallel import WIKIS_AT_ONCE, gather
from wikisync.errors import WikisyncError
from wikisync.workspace.addresses import Notify
from wikisync.workspace.discovery import Selection
from wikisync.workspace.doctor.findings import Finding, Grade
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.rights import Service, TokenRights, check_token, check_wikis
from wikisync.workspace.sentences import counted

SKEW_MAX_S = 60.0
"""Clocks that differ by more are reported; the sync itself does not go by them."""
EXPIRY_DAYS = 14
"""A token that ends within so many days is reported."""


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
    yield Finding(Grade.FINE, f"{url} answers as a GitLab-compatible service{version}")
    async for finding in _check_clock(url, token):
        yield finding
    for finding in token_findings(service.token, datetime.now(tz=UTC).date()):
        yield finding

    async def of_wiki(wiki: WikiSection) -> list[Finding]:
        found = _check_wiki(opened, service, token, wiki, notify)
        return [finding async for finding in found]

    wikis = opened.workspace.config.wikis
    for findings in await gather(wikis, of_wiki, in_flight=WIKIS_AT_ONCE):
        for finding in findings:
            yield finding


async def _check_clock(url: str, token: str | None) -> AsyncIterator[Finding]:
    """How far the service's clock is from this machine's."""
    async with Client(url, token) as client:
        try:
            purpose = client.purpose("read the version")
            answer = await client.send(Request("GET", routes.VERSION.path(), purpose))
        except WikisyncError:
            return  # what is wrong was reported by the checks before
    try:
        there = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except (TypeError, ValueError):
        return
    skew_s = time.time() - there
    if abs(skew_s) <= SKEW_MAX_S:
        yield Finding(Grade.FINE, "this machine's clock matches the service's")
        return
    yield Finding(
        Grade.LOOK,
        f"this machine's clock is {abs(skew_s):.0f} s"
        f" {'ahead of' if skew_s > 0 else 'behind'} the service's",
        "set the clock; sync does not depend on it, but times in messages do",
    )


def token_findings(token: TokenRights | None, today: date) -> Iterator[Finding]:
    """What the service says of the token."""
    if token is None:
        yield Finding(
            Grade.LOOK,
            "there is no token: public wikis can be read, and nothing can be written",
            "set WIKISYNC_TOKEN, or token_command in wikisync.toml",
        )
        return
    whose = f" of {token.user}" if token.user else ""
    if token.writes is False:
        yield Finding(
            Grade.LOOK,
            f"the token{whose} does not have the scope api; it can only read",
            "create a token with the scope api to upload edits",
        )
    else:
        scopes = f" (scopes {', '.join(token.scopes)})" if token.scopes else ""
        unknown = f"; {token.unknown}" if token.unknown else ""
        yield Finding(Grade.FINE, f"the token{whose} is valid{scopes}{unknown}")
    left = token.days_left(today)
    if left is not None and left <= EXPIRY_DAYS:
        yield Finding(
            Grade.LOOK,
            f"the token ends in {counted(max(0, left), 'day')}",
            "create a new one before that",
        )


async def _check_wiki(
    opened: OpenWorkspace,
    service: Service,
    token: str | None,
    wiki: WikiSection,
    notify: Notify,
) -> AsyncIterator[Finding]:
    is_project = wiki.kind == "project"
    try:
        async with Client(service.url, token, notify=notify) as client:
            found = await find_wiki(opened.state, client, wiki)
        paths = (str(found.id),)
        selection = Selection(paths if is_project else (), () if is_project else paths)
        rights, notes = await check_wikis(service, token, selection, notify)
    except WikisyncError as error:
        yield Finding.of(error, at=wiki.folder)
        return
    for problem in (*found.warnings, *found.notes):
        yield Finding(Grade.LOOK, f"{wiki.folder}: {problem.message}", problem.hint)
    for one in rights:
        grade = Grade.FINE if one.writes is not False else Grade.LOOK
        step = "" if grade is Grade.FINE else "wikisync sync --pull downloads edits"
        yield Finding(grade, f"{wiki.folder}: {one.sentence()}", step)
    for note in notes:
        yield Finding(Grade.LOOK, f"{wiki.folder}: {note.message}", note.hint)
    for sentence in _ways(opened, wiki):
        yield Finding(Grade.FINE, f"{wiki.folder}: {sentence}")


def _ways(opened: OpenWorkspace, wiki: WikiSection) -> Iterator[str]:
    """What was learned of the service from its answers."""
    known = opened.known(wiki).memory.capabilities
    if formats := ", ".join(sorted(known.strips_front_matter_of)):
        yield (
            f"the service removes the front matter of {formats} pages; the file here"
            " keeps it"
        )
    if not known.takes_empty:
        yield "the service does not accept empty pages; they are held"
