"""Finding out whose wiki it is that a folder is synced with, and which record is its.

The known id is asked first, and the path where that lives elsewhere or nowhere;
``identity`` says what the answers mean.  For ten minutes after an answer with
which all was well, a cycle that changes nothing is not preceded by that question.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from wikisync.api.client import Client, Id
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.config import WikiSection
from wikisync.decoding import json_decoder
from wikisync.errors import NotFound, ProtocolViolation, RemoteError
from wikisync.model import Problem, WikiOwner
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.identity import Between, WikiRecord
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.identity import (
    Agreement,
    Identified,
    Located,
    carried_note,
    carried_records,
    deletion_warning,
    doubtful_error,
    first_meeting,
    is_same_path,
    met_again,
    moved_note,
    record_before,
    stranger_error,
    whose,
)

log = logging.getLogger(__name__)

LOCATED_S = 600.0
"""For so long the location of a wiki without changes is not asked for again.

So much later a sync with nothing to do may report that the wiki was renamed, or that
another has its path; one that has something to do asks before it.
"""


class _Answer(Struct, frozen=True):
    """Where a wiki was when the service was last asked, and all was well."""

    path: str
    id: int
    at: float
    """In seconds since the epoch."""

    @classmethod
    def now(cls, there: Located) -> _Answer:
        """What the service just said."""
        return cls(there.owner.full_path, there.id, time.time())

    def is_younger_than(self, seconds: float) -> bool:
        """Whether it is so young; not where the clock was set back since."""
        return 0 <= time.time() - self.at < seconds


_ANSWER = json_decoder(_Answer)


class FoundRecord(Struct, frozen=True):
    """A wiki where it is now, and what is known of it."""

    there: Located
    known: WikiState
    notes: tuple[Problem, ...] = ()
    """What a person may want to change in the configuration."""
    warnings: tuple[Problem, ...] = ()
    """What needs a person."""
    may_adopt: bool = True
    """Whether pages that are only here may be put on it all at once."""
    between: Between | None = None
    """What the folder had of another wiki since it was synced with this one."""


def wiki_as_found(
    workspace: ConfiguredWorkspace, state: State, section: WikiSection
) -> FoundRecord | None:
    """Where a wiki was a few minutes ago, and the record to read it with.

    The caller must confirm it before a write.  None where the service has to be asked
    first: the configuration changed, the last answer came with a note or a warning, or
    a cycle would do something before it has compared the two sides.
    """
    owner = section.owner
    known, answer = state.wiki(owner), _last_answer(state, section)
    if answer is None:
        return None
    is_same = (
        answer.is_younger_than(LOCATED_S)
        and str(answer.id) == known.remote_id
        and section.id in {None, answer.id}
        and is_same_path(answer.path, section.path)
        and known.folder == section.folder
        and known.folder not in _others(workspace, section).values()
    )
    is_begun = known.intents() or known.conflict_files() or known.undoing
    if not is_same or is_begun or not known.base() or state.used_since(known):
        return None
    there = Located(WikiOwner(owner.kind, answer.path), answer.id)
    return FoundRecord(there, known, may_adopt=known.follows is None)


def _remembered(section: WikiSection) -> str:
    """Under this name the state keeps where a wiki was."""
    return f"located {section.owner}"


def _last_answer(state: State, section: WikiSection) -> _Answer | None:
    try:
        return _ANSWER.decode(state.recalled(_remembered(section)))
    except msgspec.DecodeError:
        return None


def _remember(
    state: State, section: WikiSection, there: Located, *, is_well: bool
) -> None:
    """Keep where a wiki is, if nothing has to be said of it."""
    before, now = _last_answer(state, section), _Answer.now(there)
    if not is_well:
        if before is not None:
            state.remember(_remembered(section), "")
    elif not (
        before is not None
        and (before.path, before.id) == (now.path, now.id)
        and before.is_younger_than(LOCATED_S / 2)
    ):
        state.remember(_remembered(section), msgspec.json.encode(now).decode())


async def find_wiki(
    workspace: ConfiguredWorkspace,
    state: State,
    client: Client,
    section: WikiSection,
    *,
    is_real: bool = True,
) -> FoundRecord:
    """Where a wiki is now, and the record to sync it with.

    Args:
        workspace: That of the wiki.
        state: What is known of its wikis.
        client: For its service.
        section: Which of its wikis.
        is_real: False to use the record in this process alone.

    Raises:
        NotFound: the project or group does not exist or is hidden.
        Halted: another one has its path.
    """
    owner, known = section.owner, state.wiki(section.owner)
    others = _others(workspace, section)
    if known.folder in others.values():
        # two wikis have changed places in the configuration: this is the other's
        known = state.of_record(state.begin(owner, ""))
    found = await _locate(client, section, known)
    there = found.there
    if not found.is_certain:
        agreement = await _agreement(client, there, known)
        if not agreement.is_enough:
            raise doubtful_error(owner, there, agreement)
    notes: list[Problem] = []
    warnings: list[Problem] = []
    before: WikiRecord | None = None
    if known.remote_id not in {"", str(there.id)} or not known.base():
        search = _Search(workspace, state, client, section, there, is_real=is_real)
        known, before = await search.run(known)
        notes += search.notes
        if before is not None:
            warnings.append(first_meeting(owner, before, search.why(before)))
    between = state.used_since(known) if known.base() else None
    had: Between | None = None
    if between is not None:
        other = state.of_record(between.number)
        had = Between(other.base(), other.left_out)
        notes.append(met_again(owner, between))
        if is_real:
            known.note_follows(between.number)
    if is_real:
        if known.remote_id != str(there.id):
            known.note_remote_id(str(there.id))
        known.note_folder(section.folder)
    if not is_same_path(there.owner.full_path, owner.full_path):
        notes.append(moved_note(owner, there))
    if there.deletion_on:
        warnings.append(deletion_warning(owner, there))
    if is_real:
        _remember(state, section, there, is_well=not (notes or warnings))
    return FoundRecord(
        there,
        known,
        tuple(notes),
        tuple(warnings),
        may_adopt=before is None and between is None and known.follows is None,
        between=had,
    )


def _others(
    workspace: ConfiguredWorkspace, section: WikiSection
) -> Mapping[WikiOwner, str]:
    """The workspace's other wikis with their folders."""
    wikis = workspace.config.wikis
    return {one.owner: one.folder for one in wikis if one is not section}


async def _locate(client: Client, section: WikiSection, known: WikiState) -> Identified:
    """The wiki that the configuration and the record mean.

    Raises:
        NotFound: neither the id nor the path leads to one.
        Halted: the path leads to another one.
    """
    owner, known_id = section.owner, section.id or _number(known.remote_id)
    by_id: Located | None = None
    if known_id is not None:
        with suppress(NotFound):
            by_id = await _ask(client, owner, known_id)
    by_path: Located | None = None
    missing: RemoteError | None = None
    if by_id is None or not is_same_path(by_id.owner.full_path, section.path):
        try:
            by_path = await _ask(client, owner, section.path)
        except (NotFound, ProtocolViolation) as error:
            # a proxy that takes %2F apart lets no path through
            missing = error
    found = whose(
        by_id,
        by_path,
        path=section.path,
        known_id=known_id,
        is_given=section.id is not None,
    )
    if found is None:
        assert missing is not None, "the request does not exist on the service"
        raise missing
    if found.is_other:
        raise stranger_error(owner, str(known_id), found)
    return found


async def _ask(client: Client, owner: WikiOwner, which: Id) -> Located:
    record = await client.address_of(owner.kind, which, name=owner.full_path)
    path = record.path or owner.full_path
    on = record.marked_for_deletion_on or ""
    return Located(WikiOwner(owner.kind, path), record.id, on)


def _number(remote_id: str) -> int | None:
    return int(remote_id) if remote_id.isascii() and remote_id.isdigit() else None


async def _agreement(client: Client, there: Located, known: WikiState) -> Agreement:
    """How many pages of a record the wiki still has; scans the whole wiki."""
    seen = await WikiReplica(Wiki(client, there.owner, there.id)).snapshot()
    return Agreement.of(known.base(), seen.pages)


async def wiki_at(
    client: Client, section: WikiSection, known: WikiState
) -> tuple[str, bool]:
    """What a service has of a wiki that was synced elsewhere, and whether it is it.

    Args:
        client: For the other service.
        section: The wiki.
        known: Its record.
    """
    which: Id = _number(known.remote_id) or section.path
    try:
        there = await _ask(client, section.owner, which)
    except NotFound:
        return (
            f"{section.owner} (id {known.remote_id or 'unknown'}) is not there",
            False,
        )
    agreement = await _agreement(client, there, known)
    path = there.owner.full_path
    return f"{path} (id {there.id}), {agreement}", agreement.is_enough


def _met_before(records: Sequence[WikiRecord], known: WikiState) -> WikiRecord | None:
    """The record that was made before this one, and that this one follows."""
    follows = known.follows
    if follows is None or follows > known.number:
        return None  # the first one, to which the folder came back
    return next((one for one in records if one.number == follows), None)


class _Search:
    """Finds the record of a wiki that has none at its address."""

    def __init__(
        self,
        workspace: ConfiguredWorkspace,
        state: State,
        client: Client,
        section: WikiSection,
        there: Located,
        *,
        is_real: bool,
    ) -> None:
        self._workspace, self._state, self._client = workspace, state, client
        self._section, self._there = section, there
        self._is_real = is_real
        self._service_url = workspace.config.service.url.rstrip("/")
        self._doubts: dict[int, Agreement] = {}
        """Records with the wiki's id whose pages are others."""
        self.notes: list[Problem] = []

    async def run(self, known: WikiState) -> tuple[WikiState, WikiRecord | None]:
        """The record to use, and whose wiki the folder was before if it is new."""
        state, owner = self._state, self._section.owner
        records = state.records()
        is_it = known.remote_id in {"", str(self._there.id)}
        if is_it and known.health().last_started_at is not None:
            # nothing to agree on was found yet, or nothing is left of it
            return known, _met_before(records, known)
        carried = await self._carried(records)
        if carried is not None:
            known = state.bind(owner, carried.number, is_real=self._is_real)
            if (carried.service_url, carried.owner) != (self._service_url, owner):
                note = carried_note(owner, carried, self._service_url)
                self.notes.append(note)
                log.info("%s", note)
                if self._is_real:
                    known.note_done(time.time(), NO_SLUG, note.message)
            return known, None
        before = record_before(records, known.number, owner, self._section.folder)
        if not is_it:
            # what is known of the other wiki stays as it is
            before = next(one for one in records if one.number == known.number)
            known = state.of_record(state.begin(owner, str(self._there.id)))
        if before is not None and self._is_real and known.follows is None:
            known.follow(before.number)
        return state.bind(owner, known.number, is_real=self._is_real), before

    async def _carried(self, records: tuple[WikiRecord, ...]) -> WikiRecord | None:
        """The record that is of this wiki under another address, if there is one."""
        found = carried_records(
            records,
            service_url=self._service_url,
            there=self._there,
            folder=self._section.folder,
            others=_others(self._workspace, self._section),
        )
        for one in found:
            if one.service_url == self._service_url:
                return one
            record = self._state.of_record(one.number)
            agreement = await _agreement(self._client, self._there, record)
            if agreement.is_enough:
                return one
            self._doubts[one.number] = agreement
        return None

    def why(self, before: WikiRecord) -> str:
        """Why it is another wiki than that of a record."""
        if before.number in self._doubts:
            return f"it has the same id, but {self._doubts[before.number]}"
        where = f" at {self._service_url}"
        if before.service_url == self._service_url:
            where = ""
        return f"{self._there.owner}{where} has the id {self._there.id}"
