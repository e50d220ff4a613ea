"""The client's limits: one frozen record, every field with its unit.  Pure."""

from msgspec import Struct

MEBIBYTE = 1024 * 1024


class ClientSettings(Struct, frozen=True):
    """How long, how often and how much the client asks."""

    connect_timeout_s: float = 15.0
    read_timeout_s: float = 60.0
    """Longest silence, before an answer and in the middle of it; a big list takes its
    time."""
    bytes_per_s_min: int = 8 * 1024
    """An answer has this time from its headers on, and more as its bytes come: what
    drips more slowly never ends."""
    late_attempts_max: int = 2
    """How often a read is made that gets no answer in time."""
    refused_attempts_max: int = 2
    """How often a read is made that something in front of the service refuses."""
    notice_after_s: float = 10.0
    """After this time a notice says what is waited for."""
    notice_pause_s: float = 5.0
    """A person is notified before a pause longer than this."""
    upload_timeout_s: float = 3600.0
    """One file on its way to the service."""
    deadline_s: float = 600.0
    """One operation with all its repetitions and pauses."""

    attempts_max: int = 5
    retry_delay_s: float = 0.5
    """Upper end of the first random pause; it doubles with every attempt."""
    retry_delay_max_s: float = 30.0
    rate_limit_delay_s: float = 1.0
    """Pause after a 429 that names none; it doubles while nothing is answered ..."""
    rate_limit_pause_s: float = 60.0
    """... up to the window of the service's limiter."""
    rate_limit_pause_max_s: float = 300.0
    """A service that asks for more is an error with ``retry_after_s``."""
    limit_wait_max_s: float = 900.0
    """However long the service asks to wait, one request is made after this time."""

    reads_max: int = 8
    """Requests in flight at most; writes to one wiki are serial besides."""
    redirects_max: int = 5
    list_requests_max: int = 10_000
    per_page: int = 100

    answer_bytes_max: int = 256 * MEBIBYTE
    """Largest JSON answer, decompressed."""
    attachment_bytes_max: int = 512 * MEBIBYTE

    fork_delay_s: float = 1.0
    """First pause between reads of a fork that is being made."""
    fork_delay_max_s: float = 30.0
    fork_deadline_s: float = 1800.0


DEFAULT_SETTINGS = ClientSettings()
