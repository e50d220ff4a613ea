"""What of a watch needs a person, at once, or after hours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from wikisync.api.budget import Wait, shown_time
from wikisync.errors import OF_SERVICE, OWN_TROUBLE, SyncError, WikisyncError
from wikisync.watch.daemon.daemon import Daemon
from wikisync.watch.daemon.schedule import REFUSED_RETRY_S
from wikisync.watch.daemon.wiki_status import Condition, WikiStatus
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.attention import (
    LASTING_S,
    LASTING_TRIES,
    SERVICE,
    is_transient,
    refused_sentence,
)
from wikisync.workspace.syncing import Synced

_LONG = f"for more than {LASTING_S / 3600:.0f} hours"
_LIMIT_STEP = (
    "requests wait, and one is tried at least every"
    f" {REFUSED_RETRY_S / 60:.0f} minutes; use this token in fewer programs, or ask"
    f" the administrator of the service"
)
_HINT = "run: wikisync doctor"


def service_sentence(daemon: Daemon, waits: Sequence[Wait] = ()) -> str:
    """What is wrong with the service; empty where that is nobody's business yet."""
    trouble = daemon.trouble
    long = [wait for wait in waits if wait.asked_s > REFUSED_RETRY_S]
    if long and (trouble is None or trouble.condition is Condition.LIMITED):
        return f"{SERVICE}: {'; '.join(map(_limit_words, long))}; {_LIMIT_STEP}"
    if trouble is None:
        return ""
    if trouble.condition is Condition.REFUSED:
        return refused_sentence(trouble.hint)
    if daemon.now() - trouble.since < LASTING_S:
        return ""
    # in words that are the same after each try, so that a person is called once
    is_limited = trouble.condition is Condition.LIMITED
    what = "it limits requests" if is_limited else "unreachable"
    return f"{SERVICE}: {what} {_LONG}; saves wait; {_HINT}"


def _limit_words(wait: Wait) -> str:
    return f"it accepts no {wait.what} until {shown_time(wait.ends_at)}"


def seen(daemon: Daemon, wikis: Sequence[WatchedWiki]) -> list[Synced]:
    """Each wiki with what keeps it from going on, where a person is needed for it."""
    return [_seen(daemon, wiki) for wiki in wikis]


def _seen(daemon: Daemon, wiki: WatchedWiki) -> Synced:
    wiki_status = daemon.schedule[wiki.name]
    paused = "" if wiki_status.is_paused else None
    return replace(wiki.synced, paused=paused, failure=_failure(daemon, wiki_status))


def _failure(daemon: Daemon, wiki_status: WikiStatus) -> WikisyncError | None:
    error = wiki_status.failure
    if error is None:
        return None
    if isinstance(error, OF_SERVICE) and daemon.trouble is not None:
        return None  # it is reported for the service
    if isinstance(error, OWN_TROUBLE) and wiki_status.failures >= LASTING_TRIES:
        # while all others go on, no waiting for the service mends it
        return SyncError(wiki_status.problem, hint=wiki_status.hint)
    if not is_transient(error):
        return error
    if daemon.now() - wiki_status.failing_since < LASTING_S:
        return None
    return SyncError(f"{error.message}, {_LONG}", hint=_HINT)
