"""Which wiki a folder is synced with: a wiki is its id on its service.

The same id under another path is followed and reported.  At another address of the
service an id means nothing: there the history or the texts have to prove that it is the
same wiki.  Everything else halts the wiki until a person corrects ``wikisync.toml``, or
runs ``wikisync adopt``.
"""

import time
from contextlib import suppress

from msgspec.structs import replace

from wikisync.api.client import Client, Id
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.config.sections import WikiSection
from wikisync.core.decoding import KeptAsText
from wikisync.core.model import Problem, WikiOwner
from wikisync.errors import Halted, NotFound, ProtocolViolation, command_line
from wikisync.sync.base.state import State, WikiState
from wikisync.workspace.sentences import counted

EQUAL_PAGES = 10
"""So many pages that are the same prove that it is one wiki; of a smaller one, all."""
LOCATED_S = 600.0
"""For so long the location of a wiki without changes is not asked for again, also where
it was renamed; what has something to do asks before it."""


class Located(KeptAsText, frozen=True):
    """A project or group as the service has it now."""

    service: str
    owner: WikiOwner
    id: int
    created_at: str = ""
    deletion_on: str = ""
    """The day on which it was marked for deletion, or empty."""
    notes: tuple[Problem, ...] = ()
    """What a person may want to change in the configuration."""
    warnings: tuple[Problem, ...] = ()
    at: float = 0.0
    """When the service said so."""

    @property
    def remote_id(self) -> str:
        """Which wiki it is: the id of its project or group on its service."""
        return f"{self.service} {self.owner.kind} {self.id}"

    def is_younger_than(self, seconds: float) -> bool:
        """Whether it is so young; not where the clock was set back since."""
        return 0 <= time.time() - self.at < seconds


def is_same_path(one: str, other: str) -> bool:
    """Whether two paths name one project or group: the service ignores case."""
    return one.casefold() == other.casefold()


def wiki_as_found(state: State, client: Client, section: WikiSection) -> Located | None:
    """Where a wiki was a few minutes ago, which must be confirmed before a write.

    None where the service has to be asked first: the last answer does not fit, or a
    cycle would do something before it has compared the two sides.
    """
    owner = section.owner
    known = state.wiki(owner)
    answer = Located.parse(state.recalled(f"located {owner}"))
    if answer is None:
        return None
    is_same = (
        answer.is_younger_than(LOCATED_S)
        and answer.service == str(client.address)
        and answer.remote_id == known.memory.remote_id
        and section.id in {None, answer.id}
        and is_same_path(answer.owner.full_path, section.path)
    )
    is_under_way = known.intents() or known.conflict_files()
    if not is_same or is_under_way or not known.base():
        return None
    return replace(answer, created_at=known.memory.created_at)


async def find_wiki(
    state: State, client: Client, section: WikiSection, *, adopts: bool = False
) -> Located:
    """Where the wiki of a folder is now; NotFound where it is gone or hidden.

    ``adopts`` takes the wiki that has the path now, whichever it is; else Halted where
    it is not known to be the one that the folder was synced with.
    """
    owner, known = section.owner, state.wiki(section.owner)
    bound, is_begun = known.memory.remote_id, known.is_begun
    is_here = bound.startswith(f"{client.address!s} {owner.kind} ")
    was = int(bound.rpartition(" ")[2]) if bound else None
    wanted = was if is_begun and is_here else section.id
    by_id, at_path = await _both(client, section, wanted)
    there = at_path or by_id
    assert there is not None, "the request of a path raises where there is nothing"
    now = there.remote_id
    times = {known.memory.created_at, there.created_at} - {""}
    error: Halted | None = None
    notes: list[Problem] = []
    if not is_begun:
        if wanted not in {None, there.id} and now != bound:
            error = _another_wiki(section, there, wanted, by_id)
    elif now != bound and is_here and not adopts:
        error = _another_wiki(section, there, wanted, by_id)
    elif now != bound or at_path is None or len(times) > 1:
        if why := await _difference(client, there, known):
            error = Halted(
                f"{there.owner} (id {there.id}) at {there.service} has other pages"
                f" ({why}) than the wiki that {section.folder} was synced with; nothing"
                " was changed",
                hint="correct wikisync.toml; or, to sync the folder with this one, run:"
                f" {command_line('adopt', section.folder)}",
            )
        elif now != bound:
            what = (
                f"at the last sync the {section.kind} had the id {was} at"
                f" {bound.partition(' ')[0]}; it is the same wiki as that with the id"
                f" {there.id} at {there.service}"
            )
            notes.append(_moved(owner, what))
    if error is not None and not adopts:
        raise error
    if error is not None and is_begun:
        known = state.begin_anew(owner)
    if known.memory.remote_id != now:
        known.remember(remote_id=now, remote_tag="")
    if there.created_at and known.memory.created_at != there.created_at:
        known.remember(created_at=there.created_at)
    path, kind = there.owner.full_path, owner.kind
    if not is_same_path(path, owner.full_path):
        hint = f'write {kind} = "{path}" into wikisync.toml'
        notes.append(_moved(owner, f"the {kind} {owner.full_path} is {path} now", hint))
    if section.id not in {None, there.id}:
        what = f"the {kind} of {section.folder} has the id {there.id}, and not"
        what = f"{what} {section.id}"
        notes.append(_moved(owner, what, f"write id = {there.id} into wikisync.toml"))
    deletion = Problem(
        "wiki-marked-for-deletion",
        str(owner),
        f"the {kind} was marked for deletion on {there.deletion_on}; the service will"
        f" delete it and its wiki after its retention period",
        f"restore the {kind}, or pause the wiki: wikisync pause",
    )
    warnings = (deletion,) if there.deletion_on else ()
    found = replace(there, notes=tuple(notes), warnings=warnings)
    _remember(state, owner, found)
    return found


async def _both(
    client: Client, section: WikiSection, number: int | None
) -> tuple[Located | None, Located | None]:
    """What has an id, and what has the configured path; one of them at least."""
    by_id: Located | None = None
    if number is not None:
        with suppress(NotFound):
            by_id = await _ask(client, section.owner, number)
    if by_id is not None and is_same_path(by_id.owner.full_path, section.path):
        return by_id, by_id
    try:
        return by_id, await _ask(client, section.owner, section.path)
    except (NotFound, ProtocolViolation):
        # a proxy that takes %2F apart lets no path through
        if by_id is None:
            raise
        return by_id, None


async def _ask(client: Client, owner: WikiOwner, which: Id) -> Located:
    record = await client.address_of(owner.kind, which, name=owner.full_path)
    path = record.path or owner.full_path
    times = record.created_at or "", record.marked_for_deletion_on or ""
    where = WikiOwner(owner.kind, path)
    return Located(str(client.address), where, record.id, *times)


async def _difference(client: Client, there: Located, known: WikiState) -> str:
    remote = WikiReplica(Wiki(client, there.owner, there.id))
    head, earlier = await remote.head(), known.memory.head
    if head and earlier and (head == earlier or await remote.follows(head, earlier)):
        return ""
    base, pages = known.base(), (await remote.snapshot()).pages
    equal = sum(
        slug in pages and pages[slug].digest == page.remote
        for slug, page in base.items()
    )
    if equal >= min(EQUAL_PAGES, max(len(base), len(pages))) > 0:
        return ""
    return f"{equal} of {counted(len(base), 'page')} are the same"


def _remember(state: State, owner: WikiOwner, found: Located) -> None:
    name = f"located {owner}"
    before = Located.parse(state.recalled(name))
    if found.notes or found.warnings:
        if before is not None:
            state.remember(name, "")
    elif not (
        before is not None
        and (before.owner, before.remote_id) == (found.owner, found.remote_id)
        and before.is_younger_than(LOCATED_S / 2)
    ):
        state.remember(name, str(replace(found, at=time.time())))


def _another_wiki(
    section: WikiSection, there: Located, known_id: int | None, ours: Located | None
) -> Halted:
    kind, new = section.kind, there.id
    where, hint = (
        "was deleted or is hidden from this token",
        "restore yours, use a member's token, or correct wikisync.toml",
    )
    if ours is not None:
        path = ours.owner.full_path
        where, hint = f"is {path}", f'write {kind} = "{path}" into wikisync.toml'
    return Halted(
        f"{section.path} is another {kind} now (id {new}); yours (id {known_id})"
        f" {where}; nothing was changed",
        hint=f"{hint}; or, to sync the folder with the new one, run:"
        f" {command_line('adopt', section.folder)}",
    )


def _moved(owner: WikiOwner, what: str, hint: str = "") -> Problem:
    return Problem("wiki-moved", str(owner), what, hint)
