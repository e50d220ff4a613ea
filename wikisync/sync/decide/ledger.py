"""What the base remembers beside the pages, as values; its limits.  Pure.

Times are seconds since the epoch, given by whoever has a clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.mentions import linked_ways, mentioned_attachments
from wikisync.merging.metadata import front_matter_of
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.decide.safety import Batch, BatchKind

TEXT_ZLIB_LEVEL = 1
"""Texts are small and many: level 1 packs within 10 % of 6 at a third of the time."""
REPLACED_KEPT_S = 90 * 24 * 3600.0
REPLACED_BYTES_MAX = 200 * 1024 * 1024
"""Replaced texts of a wiki, packed; above it the oldest go first."""
REPLACED_CHECK_EVERY = 256
"""So many texts are kept between two scans at their age and size."""
REPLACED_SEARCHED_MAX = 1000
"""Replacements in which a text is searched that nobody knows the page of."""
WRITES_KEPT_S = 10 * 60.0
EVENTS_KEPT_S = 90 * 24 * 3600.0
CLOCK_SETTLED_S = 24 * 3600.0
"""Ages count from what is at least that old: a clock may be wrong for some hours."""
EVENTS_MAX = 50_000
EVENT_CHARS_MAX = 2_000

NO_SLUG = model.Slug("")
NO_DIGEST = model.Digest("")


def pack(text: str) -> bytes:
    """A text as the file keeps it."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), TEXT_ZLIB_LEVEL)


def unpack(packed: bytes) -> str:
    """The text that ``pack`` packed."""
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


class Agreed(Struct, frozen=True):
    """One page that both sides hold now, with the text they agreed on."""

    page: BasePage
    zlib: bytes
    mentions: str
    """Paths of attachments that the text mentions, and ways to other files, one a
    line."""

    @classmethod
    def of(cls, page: BasePage, text: str) -> Agreed:
        """The page with this text."""
        return cls(page, *packed_text(text))


def packed_text(text: str) -> tuple[bytes, str]:
    """The last two parts of an ``Agreed``; making them may happen in a thread."""
    return pack(text), "\n".join(
        dict.fromkeys((*mentioned_attachments(text), *linked_ways(text)))
    )


class Side(StrEnum):
    """One of the two replicas."""

    LOCAL = "local"
    REMOTE = "remote"
    EDITOR = "editor"
    """Not a replica: pages that are open in an editor here."""
    RENAME = "rename"
    """Nor this: pages with the temporary name of a rename on the wiki."""
    UNREAD = "unread"
    """Nor this: new pages whose text cannot be read."""


class WriteKind(StrEnum):
    """A call to the service that cannot simply be made twice."""

    CREATE = "create"
    REPLACE = "replace"
    MOVE = "move"
    DELETE = "delete"
    REBASE = "rebase"
    """Not a call: a merge is written here, and its text is the wiki's then."""


class Intent(Struct, frozen=True):
    """A call that is about to be sent; what came of it is found out after a crash."""

    operation: WriteKind
    slug: model.Slug
    target: model.Slug = NO_SLUG
    format: model.Format = model.Format.MARKDOWN
    before: model.Digest = NO_DIGEST
    """What the wiki held when the call was prepared; empty where nothing."""
    after: model.Digest = NO_DIGEST
    """What it holds if the call came through; empty where nothing."""
    text: str = ""
    at: float = 0.0
    id: int = 0
    """Given by ``begin``, named by ``settle``."""


class Replaced(Struct, frozen=True):
    """A text of the folder that a write of ours replaced."""

    replaced: str
    written: str
    at: float
    is_stale: bool = False
    """Whether it was a save from an editor that showed an older text, or gave way to
    one that a person restored: saved once more, it is meant."""
    is_written: bool = True
    """Whether the new text is known to have taken its place."""
    format: model.Format = model.Format.MARKDOWN


class FetchedFile(Struct, frozen=True):
    """An attachment of the wiki, which the folder holds or held."""

    path: model.AttachmentPath
    digest: model.Digest
    """Of what the wiki had; an upload never gets other content under its path."""
    here: model.LooseFile | None
    """The file as it was found last; None where it was gone.  A person may have
    changed it in its place."""
    version: str = ""
    """Git's id of what the wiki had, where that may change; empty for an upload, and
    for a person's own file in the place of the wiki's."""


class Sighting(Struct, frozen=True, array_like=True):
    """How often a page was missing from a scan, in a row."""

    count: int
    first_at: float
    last_at: float


class ConflictFileRecord(Struct, frozen=True):
    """A conflict file as it was written, and the two texts it was made of."""

    format: model.Format
    conflict_file: model.Digest
    """Of the file as written: another one there now is a person's work.  ``NO_DIGEST``
    where it could not be written: then whatever is there is not ours."""
    local: str
    remote: str
    at: float
    wiki_digest: model.Digest
    """Of the wiki's text as the wiki holds it."""

    @property
    def has_file(self) -> bool:
        """Whether the file was written."""
        return self.conflict_file != NO_DIGEST


class Refusal(Struct, frozen=True):
    """A text that the service did not take, or not delete; not tried again as it is."""

    local: model.Digest
    """Of the text here, or of the wiki's that was to be deleted."""
    message: str
    at: float


class LogEntry(Struct, frozen=True):
    """One line of the log that a person reads."""

    at: float
    slug: model.Slug
    """The page, or empty where it is about the wiki."""
    what: str
    is_warning: bool = False
    """A person can do something about it; else it is a change that was made."""


class Health(Struct, frozen=True):
    """The state of the sync of one wiki."""

    last_started_at: float | None = None
    last_good_at: float | None = None
    worst_window_s: float = 0.0
    """Longest time between a read and the answer of the write after it."""
    worst_window_slug: model.Slug = NO_SLUG
    problem: str = ""
    """What is wrong now in one sentence, or empty."""


class Capabilities(Struct, frozen=True):
    """One service, as far as it is known."""

    takes_empty: bool = True
    """A page may be empty (Q10)."""
    strips_front_matter_of: frozenset[model.Format] = frozenset()
    """Formats of which it returns texts without their front matter (Q8), as its
    answers to our own writes have shown; the page keeps it."""

    def without_shown(self, there: model.Snapshot) -> Capabilities:
        """The service without the formats of which a page shows its front matter."""
        shown = {
            page.format
            for page in there.texts.values()
            if page.format in self.strips_front_matter_of
            and front_matter_of(page.content)
        }
        left = self.strips_front_matter_of - shown
        return replace(self, strips_front_matter_of=left) if shown else self


class WikiMemory(Struct, frozen=True, kw_only=True):
    """What is known of one wiki beside its pages, files and texts."""

    remote_id: str = ""
    """Which wiki it is, as ``Located`` writes it; empty before it was met."""
    created_at: str = ""
    """When its project or group was made, as the service says it; empty if unknown."""
    folder_identity: str = ""
    """Which folder it was synced with last, as ``folder.workspace`` writes it."""
    left_out: frozenset[model.Slug] | None = frozenset()
    """Pages that a first sync left here, and that nobody asked for since; None once a
    person wants what is only here on the wiki."""
    paused: str | None = None
    """Why a person wants this wiki left alone; None where it is synced."""
    # -- the wiki as it was seen last
    remote_tag: str = ""
    """The wiki's own mark of the state that the base holds, or empty."""
    remote_again: frozenset[model.Slug] = frozenset()
    """Pages that the base has otherwise than the wiki had them at its mark."""
    head: str | None = None
    """The wiki's newest commit at the last sync that it moved in; empty where it is not
    known, None where it was never asked for."""
    files_at: str = ""
    """The commit whose files that pages mention are all here, as the attachments say;
    empty where one is missing or another one here, or was not looked for."""
    capabilities: Capabilities = Capabilities()
    # -- what a person decides on
    batches: tuple[Batch, ...] = ()
    """Actions that wait for a person or were decided on, by number."""
    last_batch: int = 0
    """The highest number that a batch of this wiki ever had; 0 at first."""
    # -- what one cycle leaves for the next
    sightings: Mapping[Side, Mapping[model.Slug, Sighting]] = field(
        default_factory=dict
    )
    """What was seen of pages that are missing, or wait for something else."""
    refusals: Mapping[model.Slug, Refusal] = field(default_factory=dict)
    removals: Mapping[BatchKind, Mapping[model.Slug, float]] = field(
        default_factory=dict
    )
    """When pages were removed unasked, for as long as that counts."""
    troubles: tuple[model.Problem, ...] = ()
    health: Health = Health()
    syncing: int = 0
    """The sync that has begun and not ended: it has more to do, or was killed."""

    @property
    def is_rewound(self) -> bool:
        """Whether the wiki went back in time, and what comes of it is not done yet."""
        return any(batch.kind is BatchKind.REWOUND for batch in self.batches)


def remote_label(at: float) -> str:
    """When the wiki's text was first seen."""
    seen = datetime.fromtimestamp(at)  # noqa: DTZ006 - a person's own clock
    return f"seen {seen:%Y-%m-%d %H:%M}"
