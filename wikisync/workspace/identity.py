"""Whose wiki it is that a folder is synced with.  Pure.

A wiki is known by its service and the id of its project or group; path and URL are
attributes, which change.  What is remembered of a wiki is its *record*.  A record is
never removed because an id differs: it is set aside, and can be used again.

``whose`` says what a path and a known id together mean, ``carried_records`` which
record may be used under another address, ``Agreement`` whether pages prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from wikisync.errors import Halted
from wikisync.model import PageState, Problem, Slug, WikiOwner
from wikisync.sync.decide.identity import WikiRecord
from wikisync.sync.decide.plan import BasePage

EQUAL_PAGES = 10
"""So many pages that are the same prove that two addresses are of one wiki; of a small
wiki, half of its pages."""


class Located(Struct, frozen=True):
    """A project or group as the service has it now."""

    owner: WikiOwner
    """By its present path."""
    id: int
    deletion_on: str = ""
    """The day on which it was marked for deletion, or empty."""


class Identified(Struct, frozen=True):
    """What a path and a known id lead to."""

    there: Located
    is_other: bool = False
    """Another project or group has the path."""
    ours: Located | None = None
    """Then, where the known one is now; None where it is deleted or hidden."""
    is_certain: bool = True
    """False where the old path leads nowhere: then its pages have to agree."""


def is_same_path(one: str, other: str) -> bool:
    """Whether two paths name one project or group: the service ignores case."""
    return one.casefold() == other.casefold()


def whose(
    by_id: Located | None,
    by_path: Located | None,
    *,
    path: str,
    known_id: int | None,
    is_given: bool,
) -> Identified | None:
    """What the answers to a known id and to a path together mean.

    Args:
        by_id: What has the known id; None where none is known, or it is not there.
        by_path: What has the path; None where it was not asked, or is not there.
        path: As the configuration has it.
        known_id: Of the project or group that was synced, or is to be.
        is_given: Whether the id stands in the configuration.

    Returns:
        None where neither is there.
    """
    # The id is what a wiki is known by.  The path decides only where nothing has the
    # id; where another wiki has it, nothing is synced.
    if by_id is None:
        if by_path is None:
            return None
        return Identified(by_path, known_id is not None and by_path.id != known_id)
    if is_same_path(by_id.owner.full_path, path):
        return Identified(by_id)
    if by_path is not None and by_path.id != by_id.id:
        return Identified(by_path, is_other=True, ours=by_id)
    return Identified(by_id, is_certain=is_given or by_path is not None)


def stranger_error(owner: WikiOwner, known_id: str, found: Identified) -> Halted:
    """What is said where another project or group has the path."""
    path, new = owner.full_path, found.there.id
    go_on = f"to sync the folder with the new one, add id = {new} next to the path"
    if found.ours is None:
        return Halted(
            f"{path} is another {owner.kind} now (id {new}); yours (id {known_id}) was"
            f" deleted or is hidden from this token; nothing was changed",
            hint="restore yours, use a member's token, or check the service's url in"
            f" wikisync.toml; or {go_on}",
        )
    ours = found.ours.owner.full_path
    return Halted(
        f"{path} is another {owner.kind} now (id {new}); yours (id {known_id}) is"
        f" {ours}; nothing was changed",
        hint=f'write {owner.kind} = "{ours}" into wikisync.toml; or {go_on}',
    )


def doubtful_error(owner: WikiOwner, there: Located, found: Agreement) -> Halted:
    """What is said where only the id is the same."""
    path = there.owner.full_path
    return Halted(
        f"{owner} no longer exists, and {path}, which has its id {there.id}, has other"
        f" pages ({found}); nothing was changed",
        hint=f"if that is your wiki, add id = {there.id} next to the path in"
        f" wikisync.toml",
    )


# -- records under another address ---------------------------------------------------


def carried_records(
    records: Iterable[WikiRecord],
    *,
    service_url: str,
    there: Located,
    folder: str,
    others: Mapping[WikiOwner, str],
) -> Sequence[WikiRecord]:
    """Records that may be of this wiki, under another address; the likeliest first.

    Args:
        records: All of the workspace.
        service_url: The service that is asked now.
        there: The wiki's project or group.
        folder: The folder that the wiki is to be synced with.
        others: The workspace's other wikis with their folders; their records stay
            theirs.
    """
    found = [
        one
        for one in records
        if one.pages
        and one.remote_id == str(there.id)
        and one.owner.kind == there.owner.kind
        and one.folder in {"", folder}
        and not (
            one.is_in_use
            and one.service_url == service_url
            and one.owner in others
            and one.folder in {"", others[one.owner]}
        )
    ]
    return sorted(
        found,
        key=lambda one: (one.service_url == service_url, one.last_good_at or 0.0),
        reverse=True,
    )


def record_before(
    records: Iterable[WikiRecord], number: int, owner: WikiOwner, folder: str
) -> WikiRecord | None:
    """The record of the wiki that the folder was last synced with before this one.

    Args:
        records: All of the workspace.
        number: Of the record of this wiki.
        owner: This wiki; where a record's folder is not known, its path decides.
        folder: In the workspace.
    """
    found = [
        one
        for one in records
        if one.pages
        and one.number != number
        and (one.folder == folder if one.folder else one.owner == owner)
    ]
    return max(found, key=lambda one: one.last_good_at or 0.0, default=None)


class Agreement(Struct, frozen=True):
    """How many pages of a record the wiki has unchanged."""

    equal: int
    pages: int
    """In the record."""

    @classmethod
    def of(
        cls, base: Mapping[Slug, BasePage], there: Mapping[Slug, PageState]
    ) -> Agreement:
        """Compare a record with a scan of the wiki."""
        equal = sum(
            slug in there and there[slug].digest == page.remote
            for slug, page in base.items()
        )
        return cls(equal, len(base))

    @property
    def is_enough(self) -> bool:
        """Whether it shows that both are one wiki."""
        return self.equal >= min(EQUAL_PAGES, (self.pages + 1) // 2) > 0

    def __str__(self) -> str:
        return f"{self.equal} of {self.pages} pages are the same"


# -- what is said --------------------------------------------------------------------


def moved_note(owner: WikiOwner, there: Located) -> Problem:
    """One line on a wiki that is followed to its new path."""
    path = there.owner.full_path
    return Problem(
        "wiki-moved",
        str(owner),
        f"the {owner.kind} {owner.full_path} is {path} now",
        f'write {owner.kind} = "{path}" into wikisync.toml',
    )


def deletion_warning(owner: WikiOwner, there: Located) -> Problem:
    """One line on a wiki that will be removed."""
    return Problem(
        "wiki-marked-for-deletion",
        str(owner),
        f"the {owner.kind} was marked for deletion on {there.deletion_on}; the service"
        f" will delete it and its wiki after its retention period",
        f"restore the {owner.kind}, or pause the wiki: wikisync pause",
    )


def carried_note(owner: WikiOwner, record: WikiRecord, service_url: str) -> Problem:
    """One line on a record that is used under a new address."""
    was = record.owner.full_path
    if record.service_url != service_url:
        was = f"{was} at {record.service_url}"
    return Problem(
        "record-carried-over",
        str(owner),
        f"at the last sync the {owner.kind} was {was} (id {record.remote_id});"
        " its sync record stays in use",
    )


def met_again(owner: WikiOwner, between: WikiRecord) -> Problem:
    """One line on a folder that is back at a wiki after it was with another one."""
    return Problem(
        "wiki-again",
        str(owner),
        f"its folder was synced with {between} in between; pages from there are not"
        f" uploaded to this wiki, and pages changed there are held",
    )


def first_meeting(owner: WikiOwner, before: WikiRecord, why: str) -> Problem:
    """What is said of a folder that is synced with another wiki than before."""
    return Problem(
        "wiki-replaced",
        str(owner),
        f"its folder was synced with {before} before, and this is another wiki"
        f" ({why}): it is treated as a first sync: nothing is deleted, and pages that"
        f" exist only here are not uploaded",
        f"see wikisync records; if both are the same wiki, run: wikisync records --use"
        f" {before.number}",
    )
