"""Limits and version profile of the embedded service, a value of each at a time.

Limits are the real service's (``docs/service.md``) unless the comment says otherwise.
"""

from msgspec import Struct, field

from wikisync.core.system.connections import ConnectionLimits

KIB = 1024
MIB = 1024 * KIB


class Limits(Struct, frozen=True):
    """How large each thing may become."""

    content_bytes_max: int = 5 * MIB
    """A page's text, on create and edit; git may bring larger ones."""
    shown_bytes_max: int = 10 * MIB
    """Where the text of a larger page is cut when it is read."""
    title_bytes_max: int = 245
    """The last component of a title."""
    directory_bytes_max: int = 255
    """Every other component of a title."""
    directories_max: int = 64
    """How many directories a page or an attachment may be in."""
    entries_max: int = 200_000
    """Files and directories of a wiki in all."""
    name_bytes_max: int = 64 * MIB
    """Their paths in all."""
    redirects_bytes_max: int = 512 * KIB
    attachment_bytes_max: int = 100 * MIB
    attachment_name_chars_max: int = 255
    body_bytes_max: int = 32 * MIB
    """A JSON or form body: 5 MiB of text in the widest escapes of JSON."""
    unasked_body_bytes_max: int = 64 * KIB
    """A body that is read before it is known who sends it."""
    fields_max: int = 1000
    """Fields of one query or form, files counted."""
    url_bytes_max: int = 64 * KIB
    """Request line: the most directories of the longest names, percent-encoded."""
    filters_max: int = 50
    """Words, topics or custom attributes that one list of projects may ask for."""
    searched_bytes_max: int = 64 * MIB
    """What one search reads of pages, or a little more; of those behind none is
    found."""
    per_page_default: int = 20
    per_page_max: int = 100
    counted_rows_max: int = 10_000
    """Lists longer than this carry no totals."""
    offset_rows_max: int = 50_000
    """How far into a list of projects pages lead; beyond, one walks by id."""
    avatar_bytes_max: int = 200 * KIB
    description_chars_max: int = 2000
    gzip_bytes_min: int = 1 * KIB
    gzip_loopback_bytes_max: int = 1 * MIB
    """Larger bodies are not compressed for this machine itself, where it costs
    three times what it saves."""


class Profile(Struct, frozen=True):
    """Which service this one is like, where versions differ."""

    version: str = "17.11.0"
    revision: str = "wikisync"
    is_enterprise: bool = True
    """Group wikis, delayed deletion and some attributes exist in this edition only."""
    delete_level: int = 40
    """Least access level for deleting a page by REST (Planners may as well)."""


class Deletion(Struct, frozen=True):
    """How projects are deleted."""

    delay_days: int = 7
    """Mark them first, and remove them so many days later; 0 to remove them at once.
    The free edition always does."""
    purge_interval_s: float = 3600.0
    """How often the marked ones are checked."""


class Imports(Struct, frozen=True):
    """Which repositories a project may be made from."""

    hosts: frozenset[str] = frozenset()
    """Servers that ``import_url`` may name, as ``name`` or ``name:port``.  None
    unless allowed: the service would ask for addresses that callers name."""
    schemes: frozenset[str] = frozenset({"http", "https"})
    """Kinds of addresses."""
    deadline_s: float = 900.0
    """How long a repository may take to come; then its import has failed."""
    bytes_max: int = 2048 * MIB
    """How much of one is fetched."""


class GitService(Struct, frozen=True):
    """How much git over HTTP may take."""

    seconds_max: float = 300.0
    """How long one clone or push may run."""
    processes_max: int = 8
    waiting_max: int = 100
    """Requests that wait for one of those; further ones are refused."""
    waiting_s: float = 30.0
    """How long a request waits for one of those; then it is refused."""
    request_bytes_max: int = 16 * MIB
    """What a clone or fetch asks for."""
    push_bytes_max: int = 512 * MIB
    references_max: int = 1000
    """Branches and tags of one push."""
    objects_max: int = 500_000
    """Of one push."""
    file_bytes_max: int = 256 * MIB
    """Of one file in a push, unpacked."""
    files_bytes_max: int = 4096 * MIB
    """Of all files of all commits in a push, unpacked."""
    push_memory_bytes_max: int = 1024 * MIB
    """Of each process that unpacks a push, or packs a repository."""


class Rendering(Struct, frozen=True):
    """How much the HTML of pages may take."""

    deadline_s: float = 10.0
    """How long one page may take; then its source is shown."""
    processes_max: int = 2
    waiting_max: int = 16
    """Pages that wait for one of those; of further ones callers are sent away."""
    waiting_s: float = 30.0
    """How long a page waits."""


class Hook(Struct, frozen=True):
    """Who is notified of edits."""

    url: str
    secret: str = ""
    """Sent along, so that the receiver knows the sender; empty for none."""

    def __repr__(self) -> str:
        # a secret is for nobody's log
        return f"Hook({self.url!r})"


class HookLimits(Struct, frozen=True):
    """How much notifying others may take."""

    waiting_max: int = 1000
    """Deliveries; what comes when so many wait is not delivered."""
    seconds_max: float = 10.0
    """How long a receiver may take."""
    body_bytes_max: int = 25 * MIB


class Settings(Struct, frozen=True):
    """Everything about a service that is not in its data folder."""

    limits: Limits = field(default_factory=Limits)
    profile: Profile = field(default_factory=Profile)
    deletion: Deletion = field(default_factory=Deletion)
    imports: Imports = field(default_factory=Imports)
    git: GitService = field(default_factory=GitService)
    rendering: Rendering = field(default_factory=Rendering)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    """Of the moment in which the service begins to listen."""
    hooks: tuple[Hook, ...] = ()
    measure_interval_s: float = 60.0
    """How often what changed is measured and packed."""
    hook_limits: HookLimits = field(default_factory=HookLimits)
