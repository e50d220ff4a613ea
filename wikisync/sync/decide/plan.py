"""What one cycle is going to do, as values: actions, and the plan that holds them.

Pure.  The text of a plan is the dry run, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import UnionType
from typing import TypeAlias, assert_never

from msgspec import Struct

from wikisync.core.model import AttachmentPath, Digest, Format, Page, PageState, Slug


class BasePage(Struct, frozen=True):
    """What both sides held when they last agreed on a page.

    Two digests, because a side may store something else than it was given (line
    ends, a final newline, links to uploads) and must not count as changed for it.
    """

    slug: Slug
    format: Format
    local: Digest
    remote: Digest
    local_identity: str = ""
    """What the folder knows the page by through a rename, or empty."""
    remote_identity: str = ""
    """What the wiki knows it by (``wiki_page_meta_id``), or empty."""
    size: int | None = None
    """Of the agreed text in bytes, or None where it was not noted."""
    uploads: tuple[AttachmentPath, ...] = ()
    """Where links of the text to files here lead on the wiki."""

    @classmethod
    def agreed(
        cls,
        page: Page,
        *,
        local: Digest | None = None,
        remote: Digest | None = None,
        here: PageState | None = None,
        there: PageState | None = None,
        known: BasePage | None = None,
    ) -> BasePage:
        """The record of a text that both sides hold, under the wiki's name of the page.

        ``local`` and ``remote`` are digests that differ from the page's; ``here``,
        ``there``, or else ``known``, the record before, has its identities.
        """
        local_identity = known.local_identity if known else ""
        remote_identity = known.remote_identity if known else ""
        return cls(
            page.slug,
            page.format,
            page.digest if local is None else local,
            page.digest if remote is None else remote,
            local_identity=here.identity if here else local_identity,
            remote_identity=there.identity if there else remote_identity,
            size=len(page.content.encode("utf-8", "surrogatepass")),
            uploads=page.uploads or (known.uploads if known else ()),
        )

    @property
    def local_state(self) -> PageState:
        """The page as the local side had it then."""
        return PageState(
            self.slug, self.format, self.local, identity=self.local_identity
        )

    @property
    def remote_state(self) -> PageState:
        """The page as the remote side had it then."""
        return PageState(
            self.slug, self.format, self.remote, identity=self.remote_identity
        )


Base: TypeAlias = Mapping[Slug, BasePage]
"""What both sides held when they last agreed, by page."""


class HoldReason(StrEnum):
    """Why a page waits for a person; the value is the sentence shown."""

    EDITED_BOTH = "edited here and on the wiki"
    EDITED_OLDER = "an older text was edited here, in lines that changed since"
    CREATED_BOTH = "created here and on the wiki with different texts"
    FORMATS = "given two different formats here and on the wiki"
    NAME_TAKEN = "renamed to a name that another page has on the other side"
    CASE_TWIN = (
        "another page on the wiki has the same name except for spaces and dashes, or"
        " upper and lower case"
    )
    EMPTY = "empty here; this service does not accept empty pages"
    MARKER = "it contains a conflict marker line, so it is not sent to the wiki"
    GIT_MARKER = "it contains git conflict markers, so it is not sent to the wiki"
    POINTER = (
        "only a pointer to its text is left, here or on the wiki (Git LFS, git-annex)"
    )
    REFUSED = "the service rejected it"
    LOOP = "sent several times with the same text; something keeps changing it back"
    OPEN_LONG = "open in an editor here for a long time, and changed on the wiki"


class Notice(StrEnum):
    """What a person may want to know of an action that goes ahead."""

    EDIT_BEATS_DELETE_HERE = "deleted here, but edited on the wiki: it is restored"
    EDIT_BEATS_DELETE_THERE = "deleted on the wiki, but edited here: it is restored"
    RENAME_BEATS_DELETE_HERE = "deleted here, but renamed on the wiki: it is restored"
    RENAME_BEATS_DELETE_THERE = "deleted on the wiki, but renamed here: it is restored"
    DELETION_REFUSED = "its deletion was rejected: it is restored"


class SkipReason(StrEnum):
    """Why nothing is done about a difference; the value is the sentence shown."""

    UNREADABLE_HERE = "what is here cannot be read as a page"
    UNREADABLE_THERE = "the page on the wiki cannot be read"
    UNSEEN_HERE = "not found here, but not every file could be read"
    UNSEEN_THERE = "not on the wiki's list, but the list cannot be trusted"
    READ_ONLY = (
        "not uploaded: the service accepts no page in this format; save it as Markdown"
        " (.md), or list it in .wikisyncignore"
    )
    EMPTY = "empty; the service accepts no empty page, so it waits for text"
    OPEN_HERE = "open in an editor here; waiting until it is closed"
    OPEN_WITH_IT = (
        "renamed together with a page that is open in an editor here; both wait"
    )
    NAME_IN_USE = (
        "renamed to a name that another page still has on the other side; waiting until"
        " that page is renamed there"
    )
    GONE_THERE = "missing on the wiki; waiting until the deletion is confirmed"
    GONE_HERE = "its file is missing here; waiting until the deletion is confirmed"
    SHARED = (
        "missing; its deletion waits because .wikisync is shared with another machine"
    )
    MAY_BE_UNREAD = "missing; it may be a new page that cannot be read yet, so it waits"
    NOT_ASKED = "only here; a first sync uploads it only on request"
    IN_BATCH = "part of a batch that waits for your approval"
    CHANGE_REFUSED = "this change was rejected; waiting until the text changes"
    COPY = "its name is that of a copy made by another program; it is not synced"
    TROUBLE = "its deletion waits until problems with other pages are fixed"

    @property
    def is_reported(self) -> bool:
        """Whether a problem or a batch says it, with the object's own name."""
        return self in _REPORTED


_REPORTED = {
    SkipReason.UNREADABLE_HERE,
    SkipReason.UNREADABLE_THERE,
    SkipReason.IN_BATCH,
    SkipReason.TROUBLE,
    SkipReason.COPY,
}


class CreateLocal(Struct, frozen=True):
    """The wiki has a page that the folder lacks: write it."""

    slug: Slug
    format: Format
    remote: Digest
    notice: Notice | None = None


class _OfBoth(Struct, frozen=True):
    slug: Slug
    format: Format
    local: Digest
    """What the folder must still hold when it is carried out."""
    remote: Digest


class Pull(_OfBoth, frozen=True):
    """The wiki's text replaces the folder's."""


class Adopt(_OfBoth, frozen=True):
    """Both sides hold the same already; only the base learns it."""


class Rebase(Struct, frozen=True):
    """The wiki went back to an older text, which counts as agreed on from now on.

    So the newer text here of a page that waits is an edit of it.
    """

    slug: Slug
    """The name under which the base knows the page."""
    there: Slug
    format: Format
    remote: Digest


class DropRecord(Struct, frozen=True):
    """The page is gone on both sides; only the base still knows it."""

    slug: Slug


class DeleteLocal(Struct, frozen=True):
    """The page is gone from the wiki: remove the folder's copy."""

    slug: Slug
    local: Digest


class MoveLocal(Struct, frozen=True):
    """The page has another name on the wiki: the file follows."""

    slug: Slug
    target: Slug
    record: Slug
    """The name under which the base knows the page; the base follows too."""
    local: Digest

    @property
    def renamed(self) -> tuple[tuple[Slug, Slug], ...]:
        """What the page is called before and after it, here and in the base."""
        return (self.slug, self.target), (self.record, self.target)


class MoveRemote(Struct, frozen=True):
    """The file has another name: the page on the wiki follows, its text unchanged."""

    slug: Slug
    target: Slug
    record: Slug
    """The name under which the base knows the page; the base follows too."""
    format: Format
    remote: Digest
    carried: tuple[Slug, ...] = ()
    """Pages below it that the service moves along."""
    turn: int = 0
    """Its place among the renames on the wiki, of which one may need another."""

    @property
    def renamed(self) -> tuple[tuple[Slug, Slug], ...]:
        """What each page is called before and after it, those below included."""
        pages = (self.slug, *self.carried)
        return (
            (self.record, self.target),
            *((one, Slug(self.target + one[len(self.slug) :])) for one in pages),
        )


class Rebind(Struct, frozen=True):
    """Both sides have the new name already; only the base learns it."""

    slug: Slug
    """The name under which the base knows the page."""
    target: Slug
    file: Slug | None = None
    """The name that the file keeps where the service writes it otherwise: its page
    ``My Notes`` is ``My-Notes`` on the wiki.  None: that of the page."""

    @property
    def renamed(self) -> tuple[tuple[Slug, Slug], ...]:
        """What the page is called before and after it."""
        return ((self.slug, self.target),)


class CreateRemote(Struct, frozen=True):
    """The folder has a page that the wiki lacks: create it there."""

    slug: Slug
    format: Format
    local: Digest
    notice: Notice | None = None


class Push(_OfBoth, frozen=True):
    """The folder's text and format replace the wiki's."""


class Merge(_OfBoth, frozen=True):
    """Both sides changed: the merged text goes into the folder, to be pushed next."""

    is_stale: bool = False
    """Whether the save here seems to know nothing of a text that replaced another."""


class DeleteRemote(Struct, frozen=True):
    """The page is gone from the folder: remove the wiki's."""

    slug: Slug
    remote: Digest
    format: Format


class Hold(Struct, frozen=True):
    """Neither side is touched until a person decides."""

    slug: Slug
    reason: HoldReason
    target: Slug | None = None
    """The new name that it cannot get, where that is what it waits for."""
    file: Slug | None = None
    """The name of its file, where it was renamed here to another one still."""


class Skip(Struct, frozen=True):
    """A difference that this cycle leaves alone, and why."""

    slug: Slug
    reason: SkipReason
    target: Slug | None = None
    """The new name that it cannot get yet, where that is what it waits for."""


Write: TypeAlias = CreateLocal | Pull
Move: TypeAlias = MoveLocal | MoveRemote | Rebind
Delete: TypeAlias = DeleteLocal | DeleteRemote
Send: TypeAlias = CreateRemote | Push
LocalWrite: TypeAlias = Write | Merge | MoveLocal | DeleteLocal
RemoteWrite: TypeAlias = Send | MoveRemote | DeleteRemote
Action: TypeAlias = (
    Move
    | CreateRemote
    | Write
    | Merge
    | Push
    | Adopt
    | Rebase
    | DropRecord
    | Hold
    | Skip
    | Delete
)


class Plan(Struct, frozen=True):
    """Every action of one cycle, in the order in which they are carried out.

    Adoptions, renames (parents first), creates (parents first), updates and merges,
    pushes, records, what waits, and removals last.  A page has one action, but for a
    rename, which another may follow, and a ``Rebase``, whose page goes on waiting.
    """

    actions: tuple[Action, ...] = ()

    @classmethod
    def from_actions(cls, actions: Iterable[Action]) -> Plan:
        """A plan of these actions in their order of execution."""
        return cls(tuple(sorted(actions, key=_order)))

    @property
    def writes(self) -> tuple[Write, ...]:
        """Actions that put a page's text into the folder."""
        return tuple(a for a in self.actions if isinstance(a, Write))

    @property
    def removals(self) -> tuple[Delete, ...]:
        """Actions that remove a page from either side."""
        return tuple(a for a in self.actions if isinstance(a, Delete))

    @property
    def held(self) -> tuple[Hold, ...]:
        """Pages that wait for a person."""
        return tuple(a for a in self.actions if isinstance(a, Hold))

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """Differences left alone, with their reasons."""
        return tuple(a for a in self.actions if isinstance(a, Skip))

    @property
    def open_here(self) -> tuple[Slug, ...]:
        """Pages that wait until an editor here closes them."""
        return tuple(a.slug for a in self.skipped if a.reason is SkipReason.OPEN_HERE)

    @property
    def moves(self) -> tuple[Move, ...]:
        """Renames, in the order in which they are carried out."""
        return tuple(a for a in self.actions if isinstance(a, Move))

    @property
    def records(self) -> dict[Slug, Slug]:
        """Names under which the base knows pages, by the new ones of these renames."""
        return {
            move.target: move.slug if isinstance(move, Rebind) else move.record
            for move in self.moves
        }

    @property
    def files(self) -> dict[Slug, Slug]:
        """By the new names of renamed pages, those of their files until then."""
        names = {m.target: m.slug for m in self.moves if isinstance(m, MoveLocal)}
        kept = {m.target: m.file for m in self.moves if isinstance(m, Rebind)}
        return names | {slug: file for slug, file in kept.items() if file is not None}

    @property
    def merges(self) -> tuple[Merge, ...]:
        """Pages that both sides edited, whose texts decide what comes of it."""
        return tuple(a for a in self.actions if isinstance(a, Merge))

    @property
    def sends(self) -> tuple[Send, ...]:
        """Actions that put a page's text on the wiki."""
        return tuple(a for a in self.actions if isinstance(a, Send))

    def map(self, change: Callable[[Action], Action | None]) -> Plan:
        """The same plan with every action as ``change`` gives it, without the Nones."""
        changed = map(change, self.actions)
        return Plan.from_actions(action for action in changed if action is not None)

    def instead(self, kinds: type | UnionType, others: Mapping[Slug, Action]) -> Plan:
        """The same plan where pages have others instead of actions of some kinds."""
        return self.map(lambda a: others.get(a.slug, a) if isinstance(a, kinds) else a)

    def __str__(self) -> str:
        if not self.actions:
            return "nothing to do"
        return "\n".join(describe(action) for action in self.actions)


def describe(action: Action) -> str:
    """One line of the dry run; what is not said to be on the wiki happens here."""
    match action:
        case CreateLocal():
            return f"create  {action.slug}{_because(action.notice)}"
        case Pull():
            return f"update  {action.slug}"
        case Adopt():
            return f"adopt   {action.slug}"
        case Rebase():
            return f"keep    {action.slug}: the wiki has an older text; this one stays"
        case DropRecord():
            return f"forget  {action.slug}"
        case DeleteLocal():
            return f"remove  {action.slug}"
        case MoveLocal():
            return f"rename  {action.slug} -> {action.target}"
        case MoveRemote():
            count = len(action.carried)
            along = f", with {count} page{'s' * (count > 1)} below it" if count else ""
            return f"rename  {action.slug} -> {action.target} on the wiki{along}"
        case Rebind():
            return f"adopt   {action.file or action.slug} -> {action.target}"
        case CreateRemote():
            return f"create  {action.slug} on the wiki{_because(action.notice)}"
        case Push():
            return f"update  {action.slug} on the wiki"
        case Merge():
            what = "saved here over an older text" if action.is_stale else None
            return f"merge   {action.slug}: {what or HoldReason.EDITED_BOTH}"
        case DeleteRemote():
            return f"remove  {action.slug} from the wiki"
        case Hold():
            to = f" -> {action.target}" if action.target else ""
            file = f" ({action.file} here)" if action.file else ""
            return f"hold    {action.slug}{file}{to}: {action.reason}"
        case Skip():
            return f"skip    {action.slug}: {action.reason}"
    assert_never(action)


def _because(notice: Notice | None) -> str:
    return f": {notice}" if notice else ""


_RANK: dict[type[Action], int] = {
    Rebase: 0,  # both sides have the page under its name of before
    MoveRemote: 1,
    MoveLocal: 2,  # after the rename on the wiki that carries its page along
    Rebind: 3,
    CreateLocal: 4,
    Pull: 5,
    Merge: 5,
    Push: 6,
    CreateRemote: 7,  # there may be many, for which an edit is not to wait
    Adopt: 7,
    DropRecord: 8,
    Hold: 9,
    Skip: 10,
    DeleteLocal: 11,
    DeleteRemote: 11,
}


def _order(action: Action) -> tuple[int, int, str, str]:
    # parents before children where files appear, children first where they go
    depth = action.slug.count("/")
    if isinstance(action, Delete):
        depth = -depth
    elif isinstance(action, MoveRemote):
        depth = action.turn
    return _RANK[type(action)], depth, action.slug, type(action).__name__
