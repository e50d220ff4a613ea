"""Comments on wiki pages, by ``wiki_page_meta_id``: list, read, create."""

from aiohttp import web

from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.schema import CommentRecord
from wikisync.service import answers
from wikisync.service.access import Operation
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.projects.reading import answer_part
from wikisync.service.projects.views import user_record
from wikisync.service.rows import User, from_row
from wikisync.service.tables import Tables

_COMMENTS = (
    "SELECT u.*, c.id AS comment_id, c.page_id, c.body, c.is_internal,"
    " c.created_at AS written_at, c.updated_at FROM comment c"
    " JOIN user u ON u.id = c.author_id WHERE c.page_id = ? ORDER BY c.id"
)
_PAGE = "SELECT 1 FROM page_id WHERE id = ? AND kind = ? AND owner_id = ?"


async def list_comments(call: Call) -> web.Response:
    """``GET .../wiki_pages/:page_id/notes``, the latest first."""
    await call.signed_in()
    values, window = call.list_values()
    order = values.get("order_by") or "created_at"
    found = await _read(call)
    found.sort(
        key=lambda one: (getattr(one, order), one.id),
        reverse=values.get("sort") != "asc",
    )
    return answer_part(call, found, window)


async def show_comment(call: Call) -> web.Response:
    """``GET .../wiki_pages/:page_id/notes/:note_id``."""
    await call.signed_in()
    comment_id = call.number("note_id")
    for one in await _read(call):
        if one.id == comment_id:
            return answers.json_answer(one)
    raise answers.Refusal(404, {"message": "404 Not found"})


async def create_comment(call: Call) -> web.Response:
    """``POST .../wiki_pages/:page_id/notes``, by whoever may read the page."""
    await call.signed_in()
    values = call.values()
    caller, owner, page_id = await _page(call)
    is_internal = bool(values.get("internal"))
    if owner.door.is_archived or (is_internal and not _reads_internal(caller, owner)):
        raise answers.forbidden()
    body = str(values["body"])
    if not body.strip():
        raise answers.bad_request('400 Bad request - Note {:note=>["can\'t be blank"]}')
    await call.ask(
        add_comment, page_id, caller.person.id, body, is_internal=is_internal
    )
    return answers.json_answer((await _read(call))[-1], status=201)


def add_comment(
    tables: Tables, page_id: int, author_id: int, body: str, *, is_internal: bool
) -> None:
    """Add a comment to a page."""
    stamps = dict.fromkeys(("created_at", "updated_at"), tables.stamp())
    made = {"page_id": page_id, "author_id": author_id, "body": body}
    tables.insert("comment", made | stamps | {"is_internal": int(is_internal)})


async def _page(call: Call) -> tuple[Caller, Owner, int]:
    """Who calls, and the page that is named; one that is hidden is not there."""
    page_id = call.number("page_id", "noteable_id")
    try:
        caller, owner, _wiki = await call.wiki(Operation.READ)
    except answers.Refusal as refusal:
        if refusal.status != 403:
            raise
        raise answers.not_found("WikiPage::Meta") from None
    if not await call.ask(Tables.one, _PAGE, (page_id, call.kind, owner.id)):
        raise answers.not_found("WikiPage::Meta")
    return caller, owner, page_id


async def _read(call: Call) -> list[CommentRecord]:
    caller, owner, page_id = await _page(call)
    found = await call.ask(lambda t: t.db.execute(_COMMENTS, (page_id,)).fetchall())
    return [
        CommentRecord(
            id=row["comment_id"],
            body=row["body"],
            author=user_record(call, from_row(row, User)),
            created_at=row["written_at"],
            updated_at=row["updated_at"],
            noteable_id=page_id,
            noteable_type="WikiPage::Meta",
            project_id=owner.id if call.kind == "project" else None,
            internal=bool(row["is_internal"]),
            confidential=bool(row["is_internal"]),
        )
        for row in found
        if not row["is_internal"] or _reads_internal(caller, owner)
    ]


def _reads_internal(caller: Caller, owner: Owner) -> bool:
    # Planner is below Reporter in number
    return owner.membership(caller.user).has(AccessLevel.PLANNER)
