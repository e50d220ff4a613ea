"""What happened in a project lately: its wiki's edits and its pushes, as events.

Read from the histories themselves, so they show git and the API alike, and
nothing is written down twice.  An event's id is made of its commit's and stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC
from itertools import islice

from aiohttp import web
from msgspec import Struct

from wikisync.contract.project_schema import EventPage, EventPush, EventRecord
from wikisync.contract.routes import OtherEndpoint
from wikisync.core.model import split_extension
from wikisync.service.access import Operation, Verdict
from wikisync.service.call import Call, judge
from wikisync.service.committing import CommitNote
from wikisync.service.projects import people as project_people
from wikisync.service.projects.parts import judge_repository
from wikisync.service.projects.reading import answer_part, read_part
from wikisync.service.projects.views import user_record
from wikisync.service.repository import WikiRepository
from wikisync.service.tree import title_of

COMMITS_MAX = 200
"""Of each history: what is older only git shows."""
FILES_MAX = 2000
"""Of a wiki's commits; a read ends with the commit that has more."""
ID_CHARS = 12
"""Of a commit's id: a number that every client can hold."""
CHANGES_MAX = 16
_ACTIONS = {"A": "created", "D": "destroyed"}


class Happened(Struct, frozen=True):
    """An event without its author's record."""

    email: str
    moment: str
    record: EventRecord


async def list_events(call: Call) -> web.Response:
    """``GET /projects/:id/events``: edits of pages and pushes, the latest first."""
    values, caller, project, window = await read_part(call, OtherEndpoint.EVENTS)
    happened: list[Happened] = []
    if judge(call.service, project, caller, Operation.READ) is Verdict.ALLOWED:
        wiki = call.service.wiki("project", project.id).repository
        happened += await asyncio.to_thread(_edits, wiki, project.id)
    if judge_repository(project, caller, is_push=False) is Verdict.ALLOWED:
        code = call.service.code(project.id).repository
        happened += await asyncio.to_thread(_pushes, code, project.id)
    after, before = values.get("after"), values.get("before")
    happened = [
        one
        for one in happened
        if (not after or one.moment[:10] > after)
        and (not before or one.moment[:10] < before)
        and values.get("action") in {None, one.record.action_name}
    ]
    happened.sort(key=lambda one: one.moment, reverse=values.get("sort") != "asc")
    people = await call.service.records.ask(
        project_people.users_by_email, {one.email for one in happened}
    )
    events = []
    for one in happened:
        user = people.get(one.email.lower())
        author = None if user is None else user_record(call, user)
        events.append(one.record.by(author))
    return answer_part(call, events, window)


def _edits(wiki: WikiRepository, project_id: int) -> list[Happened]:
    """What each commit did to pages; the first of a commit with very many."""
    found: list[Happened] = []
    for commit, deltas in wiki.changes(COMMITS_MAX, FILES_MAX):
        pages = islice(_pages(deltas), CHANGES_MAX)
        for number, (action, page) in enumerate(pages):
            record = EventRecord(
                id=_id(commit) * CHANGES_MAX + number,
                project_id=project_id,
                action_name=action,
                target_type="WikiPage::Meta",
                target_title=page.title,
                created_at=_moment(commit),
                wiki_page=page,
            )
            found.append(Happened(commit.author.email, _moment(commit), record))
    return found


def _pages(deltas: list[tuple[str, str]]) -> Iterator[tuple[str, EventPage]]:
    for status, path in deltas:
        if (split := split_extension(path)) is None:
            continue
        slug, markup = split
        page = EventPage(format=markup, slug=slug, title=title_of(slug))
        yield _ACTIONS.get(status, "updated"), page


def _pushes(code: WikiRepository, project_id: int) -> list[Happened]:
    branch = code.branch()
    return [
        Happened(
            commit.author.email,
            _moment(commit),
            EventRecord(
                id=_id(commit) * CHANGES_MAX,
                project_id=project_id,
                action_name="pushed to",
                created_at=_moment(commit),
                push_data=EventPush(
                    commit_to=commit.id,
                    commit_from=next(iter(commit.parents), None),
                    ref=branch,
                    commit_title=commit.title,
                ),
            ),
        )
        for commit, _deltas in code.changes(COMMITS_MAX)
    ]


def _id(commit: CommitNote) -> int:
    return int(commit.id[:ID_CHARS], 16)


def _moment(commit: CommitNote) -> str:
    moment = commit.author.moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
