"""How a workspace's wikis stand: what is not in sync, and how it differs; what waits.

Only reads.  Where the service is away, folder and base alone are compared.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.budget import shown_time
from wikisync.api.client import Client
from wikisync.config.sections import WikiSection
from wikisync.core.mentions import unmet_mentions
from wikisync.core.model import AttachmentPath, Problem, Slug
from wikisync.core.terminal import visible, visible_line
from wikisync.errors import ExitCode, FolderError, Halted, WikisyncError
from wikisync.merging.diff import Hunk, changes
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import plan
from wikisync.sync.decide.ledger import Health, LogEntry
from wikisync.sync.decide.safety import Batch, Decision
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleOptions, CycleResult, FolderMatch, Held
from wikisync.sync.run.pull import STALE_SAVE
from wikisync.workspace import sentences
from wikisync.workspace.attention import batch_sentence, held_sentence, with_step
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki
from wikisync.workspace.sent_pages import SENT_AS_IT_IS

NOTICED_S = 86_400.0
"""What was done longer ago is shown by ``wikisync log`` alone."""
NOTICES_AMONG = 500
SETTLED = "its conflict file is resolved; the next sync saves it as the page"

Side = Literal["here", "wiki", "both", "held", "waiting", "settled"]
"""Where a page differs, or why nothing is done about it."""

SHOWN_WINDOW_S = 1.0
"""Time between the last read of a page and the write, from which it is reported:
usually hundredths of a second, longer where the machine slept."""


class Difference(Struct, frozen=True):
    """One page that is not in sync."""

    slug: Slug
    side: Side
    sentence: str


class WikiStatus(Struct, frozen=True):
    """One wiki as it stands."""

    section: WikiSection
    health: Health
    pages: int | None = None
    """How many pages the wiki has; when it was last seen, where it is away."""
    differences: tuple[Difference, ...] = ()
    batches: tuple[Batch, ...] = ()
    problems: tuple[Problem, ...] = ()
    missing: tuple[AttachmentPath, ...] = ()
    notices: tuple[LogEntry, ...] = ()
    """What was done lately that a person may not have meant."""
    wiki_notes: tuple[Problem, ...] = ()
    """What a person may want to change in the configuration."""
    folder_notes: tuple[Problem, ...] = ()
    has_other_folder: bool = False
    paused: str | None = None
    unseen: WikisyncError | None = None
    """Why the wiki itself was not scanned."""
    is_offline: bool = False
    failure: WikisyncError | None = None


async def scan(
    opened: OpenWorkspace,
    section: WikiSection,
    client: Client | None,
    *,
    unseen: WikisyncError | None = None,
) -> WikiStatus:
    """Scan one wiki and its folder."""
    known = opened.known(section)
    # saves of this day that were merged with what their window did not show, and
    # pages whose last news is that they were sent with bad front matter
    since = time.time() - NOTICED_S
    newest: dict[Slug, LogEntry] = {}
    met: set[Slug] = set()
    for event in known.events(NOTICES_AMONG):
        is_bad = event.what.startswith(SENT_AS_IT_IS) and event.slug not in met
        met.add(event.slug)
        if (event.what == STALE_SAVE or is_bad) and event.at >= since:
            newest.setdefault(event.slug, event)
    status = WikiStatus(
        section,
        known.memory.health,
        missing=missing_attachments(known),
        notices=tuple(newest.values()),
        paused=known.memory.paused,
        unseen=unseen,
        is_offline=client is None and unseen is None,
    )
    try:
        if client is not None:
            wiki = await opened.synced(client, section)
            return await _next_sync(opened, status, wiki)
    except (FolderError, Halted) as error:
        return replace(status, failure=error)
    except WikisyncError as error:
        status = replace(status, unseen=error)
    try:
        return await _next_sync(opened, status, None)
    except WikisyncError as error:
        return replace(status, failure=error)


async def _next_sync(
    opened: OpenWorkspace, status: WikiStatus, wiki: SyncedWiki | None
) -> WikiStatus:
    """What the next sync would do, found out as its dry run does."""
    section = status.section
    found = None if wiki is None else wiki.found
    known, match = opened.known(section), opened.match_of(section)
    status = replace(status, has_other_folder=match is FolderMatch.OTHER)
    before = known.memory.batches
    options = CycleOptions(folder=match)
    cycle = wiki.cycle(options) if wiki else opened.remembered(section, options)
    result = await run_cycle(cycle)
    batches = {batch.kind: batch for batch in result.batches}
    if wiki is None:
        # what the wiki was stopped for cannot be seen from here
        waiting = [batch for batch in before if batch.decision is Decision.WAITING]
        batches = {batch.kind: batch for batch in waiting} | batches
    return replace(
        status,
        pages=result.pages,
        differences=_differences(known, section.folder, result),
        batches=tuple(batches.values()),
        problems=(*(found.warnings if found else ()), *result.problems),
        wiki_notes=found.notes if found else (),
        folder_notes=result.notes,
    )


def missing_attachments(known: WikiState) -> tuple[AttachmentPath, ...]:
    """Attachments that pages mention, and that could not be fetched."""
    mentions = known.mentions()
    if not mentions:
        return ()
    there = known.attachments_here().union(known.uploads_by_digest().values())
    unmet = unmet_mentions(mentions, there)
    return tuple(dict.fromkeys(spellings[0] for spellings in unmet))


# -- one sentence a page -----------------------------------------------------------


def _differences(
    known: WikiState, folder: str, result: CycleResult
) -> tuple[Difference, ...]:
    found: list[Difference] = []
    failed = {trouble.subject for trouble in known.memory.troubles}
    held = {one.slug: one for one in result.held}
    for action in result.plan.actions:
        if action.slug in result.settled:
            continue
        side, sentence = _described(folder, action, held)
        if action.slug in failed and side in {"here", "wiki", "both"}:
            # what went wrong the last time stands among the problems
            sentence = f"{sentence.partition('; the ')[0]}; the next sync tries again"
        if sentence:
            found.append(Difference(action.slug, side, sentence))
    found += [Difference(slug, "settled", SETTLED) for slug in sorted(result.settled)]
    return tuple(found)


def _described(
    folder: str, action: plan.Action, held: Mapping[Slug, Held]
) -> tuple[Side, str]:
    """Where a page differs, and the sentence on it; empty where all is well."""
    match action:
        case plan.CreateLocal() | plan.CreateRemote():
            side, what, step = _STEPS[type(action)]
            return side, f"{action.notice or what}; the next sync {step}"
        case plan.MoveLocal():
            step = "the next sync renames the file"
            return "wiki", f"renamed to {action.target} on the wiki; {step}"
        case plan.MoveRemote():
            step = "the next sync renames the page"
            return "here", f"renamed to {action.target} here; {step}"
        case plan.Merge(is_stale=True):
            return "here", "saved over an older text; the next sync merges it"
        case plan.Hold():
            sentence = held_sentence(folder, held[action.slug])
            return "held", sentence.removeprefix(f"{folder}/{action.slug}: ")
        case plan.Skip(reason=plan.SkipReason.COPY | plan.SkipReason.UNREADABLE_HERE):
            return "waiting", ""  # a problem says it, with the next step
        case plan.Skip():
            return "waiting", str(action.reason)
        case plan.Adopt() | plan.Rebase() | plan.Rebind() | plan.DropRecord():
            return "both", ""
    side, what, step = _STEPS[type(action)]
    return side, f"{what}; the next sync {step}"


_STEPS: Mapping[type, tuple[Side, str, str]] = {
    plan.CreateLocal: ("wiki", "new on the wiki", "downloads it"),
    plan.Pull: ("wiki", "edited on the wiki", "downloads it"),
    plan.DeleteLocal: ("wiki", "deleted on the wiki", "moves it to the trash"),
    plan.CreateRemote: ("here", "new here", "uploads it"),
    plan.Push: ("here", "edited here", "uploads it"),
    plan.DeleteRemote: ("here", "its file was deleted here", "deletes the page"),
    plan.Merge: ("both", "edited here and on the wiki", "merges it"),
}


# -- shown -------------------------------------------------------------------------


def exit_code_of(wikis: Sequence[WikiStatus]) -> ExitCode:
    """4 where a safety stop holds something, 3 where a person is needed, else 0."""
    if any(one.batches or isinstance(one.failure, Halted) for one in wikis):
        return ExitCode.HALTED
    if any(_needs_person(one) for one in wikis):
        return ExitCode.HELD
    return ExitCode.DONE


def _needs_person(status: WikiStatus) -> bool:
    is_held = any(one.side == "held" for one in status.differences)
    return bool(is_held or status.problems or status.failure or status.unseen)


def is_well(status: WikiStatus) -> bool:
    """Whether the wiki is in sync, and needs nobody."""
    is_same = not status.differences and not status.batches
    return is_same and status.paused is None and not _needs_person(status)


def headline(status: WikiStatus) -> str:
    """The first line on a wiki."""
    now = time.time()
    words: list[str] = []
    if status.pages is not None:
        words.append(sentences.counted(status.pages, "page"))
    if status.paused is not None:
        words.append(f"paused ({status.paused})" if status.paused else "paused")
    held = sum(one.side == "held" for one in status.differences)
    rest = len(status.differences) - held
    if rest:
        words.append(f"{rest} not in sync")
    if held:
        words.append(f"{held} held")
    if status.problems:
        words.append(sentences.counted(len(status.problems), "problem"))
    elif not status.differences and not status.batches and status.failure is None:
        is_seen = status.unseen is None and not status.is_offline
        words.append("in sync" if is_seen else "no edits here")
    good_at = status.health.last_good_at
    age = sentences.ago(max(0.0, now - good_at)) if good_at is not None else "never"
    words.append(f"last good sync {age}")
    return f"{status.section.folder}: {', '.join(words)}"


class Row(Struct, frozen=True):
    """One line on a wiki: what waits, with its reason and the next step."""

    sentence: str
    slug: Slug | None = None
    batch: Batch | None = None


def rows(status: WikiStatus) -> list[Row]:
    """Everything on a wiki but its first line."""
    folder = status.section.folder
    found = [
        Row(batch_sentence(folder, one).removeprefix(f"{folder}: "), batch=one)
        for one in status.batches
    ]
    found += [
        Row(f"{one.slug}: {one.sentence}", one.slug) for one in status.differences
    ]
    found += [Row(sentences.with_hint(one, one.hint)) for one in status.problems]
    return found + [Row(note) for note in notes(status)]


def notes(status: WikiStatus) -> list[str]:
    """What else a person may want to know of a wiki."""
    now = time.time()
    found = [
        f"{one.slug}: {one.what} ({sentences.ago(max(0.0, now - one.at))})"
        for one in status.notices
    ]
    health = status.health
    found += [with_step(one.message, one.hint) for one in status.wiki_notes]
    found += [with_step(str(one), one.hint) for one in status.folder_notes]
    if status.has_other_folder:
        found.append(sentences.OTHER_FOLDER)
    unseen = status.unseen
    if unseen is not None or status.is_offline:
        why = (
            f"could not be checked ({unseen.message})" if unseen else "was not checked"
        )
        found.append(f"the wiki {why}; this status is based on the folder alone")
    if status.missing:
        names = ", ".join(status.missing[:3]) + (" ..." if status.missing[3:] else "")
        count = sentences.counted(len(status.missing), "attachment")
        found.append(f"missing here: {count} that pages mention ({names})")
    if health.worst_window_s >= SHOWN_WINDOW_S:
        found.append(
            f"{health.worst_window_slug}: an edit on the wiki less than"
            f" {health.worst_window_s:.0f} seconds before a push may have been"
            " overwritten unseen; the page's history on the wiki has it"
        )
    return found


def notes_of_watch(health: Mapping[str, Any], now: float) -> list[str]:
    """What a watch that works on the workspace waits for, from its health file."""
    found = [
        f"the service accepts no {one['what']} until {shown_time(one['until'])};"
        f" next try at {shown_time(one['next_try_at'])}"
        for one in health.get("waits", ())
        if one["next_try_at"] > now
    ]
    found += health.get("renamed", ())
    service = health.get("service", {})
    again_at = service.get("next_try_at")
    if again_at is not None and again_at > now:
        found.append(
            f"the service is {service['condition']} ({service['problem']});"
            f" next try at {shown_time(again_at)}"
        )
    return found


def status_as_json(status: WikiStatus) -> dict[str, object]:
    """One wiki for programs."""
    now = time.time()
    health = status.health
    good_at = health.last_good_at
    reason = status.failure or status.unseen
    return {
        **sentences.fields(status.section, "kind path folder"),
        "paused": status.paused,
        "is_wiki_seen": not (status.unseen or status.is_offline or status.failure),
        "error": sentences.fields(reason, "message hint") if reason else None,
        "pages": status.pages,
        "differences": [
            {"page": one.slug, **sentences.fields(one, "side sentence")}
            for one in status.differences
        ],
        "batches": [sentences.batch_as_json(batch) for batch in status.batches],
        "problems": sentences.problems_as_json(status.problems),
        "notes": sentences.problems_as_json((*status.wiki_notes, *status.folder_notes)),
        "has_other_folder": status.has_other_folder,
        "missing_attachments": list(status.missing),
        "notices": [
            {"page": one.slug, "sentence": one.what, "at": one.at}
            for one in status.notices
        ],
        "last_good_at": good_at,
        "last_good_age_s": None if good_at is None else max(0.0, now - good_at),
        "last_started_at": health.last_started_at,
        "worst_window_s": health.worst_window_s,
        "worst_window_page": health.worst_window_slug,
        "last_problem": health.problem,
    }


# -- two texts as a unified difference, coloured on a terminal -------------------------


CONTEXT_LINES = 3
"""Equal lines shown around a change."""

RED, GREEN, CYAN, BOLD, RESET = (f"\x1b[{code}m" for code in (31, 32, 36, 1, 0))
_COLOURS = {"-": RED, "+": GREEN, "@": CYAN}


def unified(
    old: str, new: str, names: tuple[str, str], *, is_coloured: bool = False
) -> str:
    """The lines of ``diff -u``; empty where the texts are equal."""
    if old == new:
        return ""
    if is_coloured:
        old, new = visible(old), visible(new)
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    # changes whose contexts would touch stand in one hunk
    hunks: list[list[Hunk]] = []
    for change in changes(before, after):
        if hunks and change.old_start - hunks[-1][-1].old_end <= 2 * CONTEXT_LINES:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    head = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    lines = [line for hunk in hunks for line in _hunk_lines(hunk, before, after)]
    if is_coloured:
        head = [f"{BOLD}{visible_line(line.rstrip())}{RESET}\n" for line in head]
        lines = [_painted(line) for line in lines]
    return "".join([*head, *lines])


def _hunk_lines(
    hunk: Sequence[Hunk], before: Sequence[str], after: Sequence[str]
) -> Iterator[str]:
    start = max(0, hunk[0].old_start - CONTEXT_LINES)
    end = min(len(before), hunk[-1].old_end + CONTEXT_LINES)
    new_start = hunk[0].new_start - (hunk[0].old_start - start)
    new_end = hunk[-1].new_end + (end - hunk[-1].old_end)
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"
    done = start
    for change in hunk:
        yield from (_line(" ", line) for line in before[done : change.old_start])
        removed = before[change.old_start : change.old_end]
        added = after[change.new_start : change.new_end]
        yield from (_line("-", line) for line in removed)
        yield from (_line("+", line) for line in added)
        done = change.old_end
    yield from (_line(" ", line) for line in before[done:end])


def _range(start: int, end: int) -> str:
    """Lines are counted from one; of none the line before is named."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return f"{sign}{line}"
    return f"{sign}{line}\n\\ No newline at end of file\n"


def _painted(line: str) -> str:
    colour = _COLOURS.get(line[0])
    return f"{colour}{line[:-1]}{RESET}\n" if colour else line
