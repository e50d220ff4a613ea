"""Quirks: what other services and bad days do, imitated on purpose for tests.

Pure.  The service knows nothing of them: ``quirky_app`` bends requests and answers,
``quirky_service`` the storage of wikis and the webhooks.

The numbers Q1 to Q16 are those of ``docs/service.md`` "Quirks".
"""

from collections import Counter
from enum import StrEnum

EVERY = 3
"""The first and then every third request of its kind meets an occasional fault."""


class Quirk(StrEnum):
    """What the service does otherwise than it should."""

    # pages
    EMPTY_LIST = "empty-list"
    """Lists are empty and pages 404, as when the git storage fails (Q1)."""
    HALF_LIST = "half-list"
    """Every second page is missing from lists, though it can be read."""
    FORMAT_DEFAULT = "format-default"
    """An edit without a format makes the page markdown (Q2)."""
    CONTENT_ONLY_MOVES = "content-only-moves"
    """An edit without a title moves the page to the root (Q3)."""
    LEAF_TITLE_MOVES = "leaf-title-moves"
    """An edit with a title of one part moves the page to the root (Q3)."""
    KEEPS_BELOW = "keeps-below"
    """A rename leaves the pages below where they are (Q4)."""
    EXACT_CASE = "exact-case"
    """``Foo`` does not find ``foo``, and both may be there (Q5)."""
    EXTRA_FORMATS = "extra-formats"
    """Lists hold a page in a format that nobody knows (Q7)."""
    MALFORMED_ENTRIES = "malformed-entries"
    """Lists have an entry without a slug, and ``null`` in that of the first page."""
    STRIPS_FRONT_MATTER = "strips-front-matter"
    """Texts are shown without their front matter (Q8)."""
    TRUNCATES_LIST_CONTENT = "truncates-list-content"
    """Lists cut texts at 1 MiB and do not say so (Q9)."""
    REFUSES_EMPTY = "refuses-empty"
    """A page must have a text (Q10)."""
    SMALL_LIMITS = "small-limits"
    """Titles to 60 bytes, texts to 64 KiB, attachments to 256 KiB (Q10)."""
    RESERVED_TITLES = "reserved-titles"
    """``pages``, ``templates``, ``new`` and others are no titles (Q10)."""
    ACTIVITY_STANDS_STILL = "activity-stands-still"
    """Wiki edits do not move the project's ``last_activity_at`` (Q14)."""
    META_ID = "meta-id"
    """Answers carry ``wiki_page_meta_id``, the same through renames (Q15)."""
    LAST_COMMIT_SHA = "last-commit-sha"
    """An edit whose ``last_commit_sha`` is not the page's answers ``null`` (Q12)."""
    NULL_RENAME = "null-rename"
    """A rename onto another page answers 200 ``null``."""
    NORMALISES_LINE_ENDS = "normalises-line-ends"
    """CRLF becomes LF in what is stored."""
    ADDS_FINAL_NEWLINE = "adds-final-newline"
    """What is stored ends with a line end."""
    NORMALISES_UNICODE = "normalises-unicode"
    """What is stored is in NFC."""
    NO_ETAG = "no-etag"
    """No answer has an entity tag."""
    FILES_NEED_SESSION = "files-need-session"
    """The file route sends tokens to the sign-in page; attachments come by git."""
    NO_GIT = "no-git"
    """Wikis cannot be cloned."""
    SILENT_TOKENS = "silent-tokens"
    """Tokens say nothing of themselves, as before 15.5."""
    HOOKS_WITHOUT_VERSION = "hooks-without-version"
    """Webhooks do not name the commit (Q13)."""
    LOSES_HOOKS = "loses-hooks"
    """Every third webhook is not sent."""
    REPEATS_HOOKS = "repeats-hooks"
    """Every third webhook is sent twice."""

    # faults
    RATE_LIMITED = "rate-limited"
    """Every third request is answered 429 without ``Retry-After`` (Q16)."""
    RATE_LIMITED_TELLING = "rate-limited-telling"
    """Every third request is answered 429, and when to come again."""
    MAINTENANCE = "maintenance"
    """Writes are answered 503."""
    FAILS_BEFORE_WRITE = "fails-before-write"
    """Every third write is answered 500 and not done."""
    FAILS_AFTER_WRITE = "fails-after-write"
    """Every third write is done and answered 502."""
    DROPS_ANSWERS = "drops-answers"
    """Every third write is done and its connection closed without an answer."""
    FAILS_READS = "fails-reads"
    """Every third read is answered 502."""
    CUT_BODIES = "cut-bodies"
    """Every third read breaks off in the middle."""
    SIGN_IN_PAGE = "sign-in-page"
    """Everything is answered with a proxy's sign-in page, 200 and HTML."""
    NOT_FOUND = "not-found"
    """Everything is answered 404."""
    TOKEN_REVOKED = "token-revoked"
    """Every token is answered 401, as if just revoked."""
    ANOTHER_PROJECT = "another-project"
    """Other projects stand at the same paths: other ids, other wikis."""


Quirks = frozenset[Quirk]


class Turns:
    """Whose turn it is to meet a fault that not every request meets."""

    def __init__(self) -> None:
        self._seen: Counter[Quirk] = Counter()

    def is_next(self, quirk: Quirk) -> bool:
        """Whether this request meets the fault; each call is one request."""
        self._seen[quirk] += 1
        return self._seen[quirk] % EVERY == 1

    def restart(self) -> None:
        """Let the next request be the first again."""
        self._seen.clear()
