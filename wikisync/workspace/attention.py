"""What waits for a person: sentences with the next step, and the file that has them.

``WIKISYNC-ATTENTION.md`` is in the workspace while a person is needed.  Whoever scanned
a part of the workspace renews the lines on that part; all others stay as they are.
"""

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from wikisync import errors
from wikisync.config.sections import WikiSection
from wikisync.core.model import Problem, Slug, split_extension
from wikisync.core.terminal import visible_line
from wikisync.folder import safe_open
from wikisync.folder.swap import write_atomically
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.decide.safety import NO_ID, Batch, BatchKind
from wikisync.sync.run.parts import Held
from wikisync.workspace.failures import OF_SERVICE, is_transient, needs_person
from wikisync.workspace.opening import Synced

ATTENTION_FILE = "WIKISYNC-ATTENTION.md"
TITLE = "# wikisync needs your decision"
_APPROVE = "run: wikisync approve "
SERVICE = "the service"
"""What sentences are about that are of no single wiki."""


def held_sentence(folder: str, held: Held) -> str:
    """One sentence on a page that waits, with the next step."""
    return f"{folder}/{held.slug}: {held}; {next_step(folder, held)}"


def next_step(folder: str, held: Held) -> str:
    """What a person does about a page that waits."""
    name = f"{folder}/{held.slug}"
    match held.reason:
        case HoldReason.EDITED_BOTH | HoldReason.EDITED_OLDER | HoldReason.CREATED_BOTH:
            # its file was removed, which only hides it, or something has its place
            first = f"see {errors.command_line('diff', name)}; then"
            if held.step:
                first = f"{held.step}; or"
            if held.conflict_file:
                first = f"resolve {folder}/{held.conflict_file} and save it; or"
            keep = errors.command_line("resolve", name, "--both")
            return f"{first} run (--mine or --wiki keep one text): {keep}"
        case HoldReason.FORMATS:
            return (
                "rename the file to the extension of the wiki's format, or change"
                " the format on the wiki"
            )
        case HoldReason.NAME_TAKEN | HoldReason.CASE_TWIN:
            # the file that has the name, whichever side the rename came from
            in_the_way = held.detail or held.slug
            return f"rename the file of {folder}/{in_the_way}"
        case HoldReason.EMPTY:
            return "add text to the file, or delete it"
        case HoldReason.MARKER:
            return "remove every line with %%%% wikisync from it"
        case HoldReason.GIT_MARKER:
            return (
                f"resolve the conflict and remove its marker lines; or, if the markers"
                f" belong to the page, send it unchanged:"
                f" {errors.command_line('sync', name)}"
            )
        case HoldReason.POINTER:
            return (
                "get the text back: git lfs pull, or git annex get and unlock, or run:"
                f" {errors.command_line('restore', name)}; if the pointer is on the"
                " wiki, edit the page there"
            )
        case HoldReason.REFUSED:
            # what it said before is about the text, its name, or the token's rights
            return (
                "fix the cause; wikisync retries when the file changes, on `wikisync"
                " sync` (or `touch .wikisync/ask` under watch), and every 15 minutes"
            )
        case HoldReason.LOOP:
            return "check the page on the wiki; wikisync retries in ten minutes"
        case HoldReason.OPEN_LONG:
            return "save and close it in the editor"
    assert_never(held.reason)


def batch_sentence(folder: str, batch: Batch) -> str:
    """One sentence on what a safety stop holds, with a step that can be taken now."""
    if batch.id == NO_ID:
        return f"{folder}: {batch}; the next sync will ask for your approval"
    name = f"{folder}:{batch.id}"
    yes, no = errors.command_line("approve", name), errors.command_line("refuse", name)
    if batch.kind is BatchKind.REWOUND:
        return (
            f"{folder}: {batch}; to accept the older texts of the wiki, run: {yes}; to"
            f" restore the newer texts on the wiki, run: {no}"
        )
    if batch.kind is BatchKind.REWOUND_THERE:
        return (
            f"{folder}: {batch}; to send the older texts to the wiki, run: {yes}; to"
            f" restore the newer texts here, run: {no}"
        )
    return f"{folder}: {batch}; to approve, run: {yes}; to reject, run: {no}"


def problem_sentence(section: WikiSection, problem: Problem) -> str:
    """One sentence on a page or file that is left alone, with the next step."""
    folder = section.folder
    sentence = with_step(problem.message, problem.hint)
    if problem.code == "page-refused":
        # the next cycle holds the page: it is not to be sentence as something new then
        slug = Slug(problem.subject)
        held = Held(slug, HoldReason.REFUSED, detail=sentence)
        return held_sentence(folder, held)
    return f"{named_problem(section, problem).subject}: {sentence}"


def named_problem(section: WikiSection, problem: Problem) -> Problem:
    """The problem under the name that its page or file has in the workspace."""
    folder, subject = section.folder, problem.subject
    if subject == str(section.owner):
        return replace(problem, subject=folder)
    if problem.code == "removals-postponed":  # of some pages together
        return replace(problem, subject=f"{folder}: {subject}")
    return replace(problem, subject=f"{folder}/{subject}")


def failure_sentence(subject: str, error: errors.WikisyncError) -> str:
    """One sentence on what cannot go on, with the next step."""
    return f"{subject}: {with_step(error.message, error.hint)}"


def with_step(sentence: str, hint: str | None) -> str:
    """A sentence with the next step behind it, where there is one."""
    return f"{sentence}; {hint}" if hint else sentence


def refused_sentence(hint: str | None) -> str:
    """One sentence on a refused token: the same whatever was asked with it."""
    step = hint or "see wikisync doctor"
    return f"{SERVICE}: it rejects the token, so saves wait; {step}"


def sentences(wiki: Synced) -> Iterator[str]:
    """What of a wiki needs a person, one sentence each."""
    section = wiki.section
    if wiki.paused is not None:
        return  # a person wants it left alone
    failure = wiki.failure
    # a token is refused by the service, which is sentence of once for all wikis
    is_shown_above = isinstance(failure, errors.AuthenticationFailed)
    if failure is not None and not is_shown_above and not is_transient(failure):
        yield failure_sentence(section.folder, failure)
    yield from waiting_sentences(wiki)
    for problem in wiki.problems:
        if needs_person(problem):
            yield problem_sentence(section, problem)


def waiting_sentences(wiki: Synced) -> Iterator[str]:
    """What waits for a person's word, one sentence each."""
    folder = wiki.section.folder
    yield from (batch_sentence(folder, batch) for batch in wiki.last.batches)
    yield from (held_sentence(folder, held) for held in wiki.last.held)


# -- the file ----------------------------------------------------------------------


def attention_lines(
    sections: Sequence[WikiSection],
    done: Sequence[Synced],
    before: Sequence[str] = (),
    *,
    service: str = "",
) -> Sequence[str]:
    """What waits for a person, one line for each; none where nobody is needed.

    ``done`` are the wikis that were scanned or tried, ``before`` is what waited until
    now, ``service`` what is wrong with the service.
    """
    scanned = {one.section: one for one in done}
    lines = [_line(service)] if service else _kept_of_service(before, done)
    for section in sections:
        wiki = scanned.get(section, Synced(section))
        lines += map(_line, sentences(wiki))
        lines += [line for line in before if _is_kept(line, wiki)]
    return tuple(dict.fromkeys(lines))


def _line(sentence: str) -> str:
    # names come from anybody: one with a line end would make a line of its own
    return visible_line(f"- {sentence}")


def attention_text(lines: Sequence[str]) -> str:
    """The file with these lines; empty where nobody is needed."""
    if not lines:
        return ""
    until = "wikisync removes this file when nothing needs your decision."
    return "\n".join([TITLE, "", until, "", *lines, ""])


def _kept_of_service(was: Sequence[str], done: Sequence[Synced]) -> list[str]:
    """What was said of the service, if it has not answered since."""
    for one in done:
        # what it said of one wiki it took the token for
        is_answer = isinstance(one.failure, errors.RemoteError)
        if one.results or (is_answer and not isinstance(one.failure, OF_SERVICE)):
            return []
    return [line for line in was if line.startswith(f"- {SERVICE}: ")]


def _is_kept(line: str, wiki: Synced) -> bool:
    """Whether a line is about what was not scanned now of this wiki."""
    whole, pages = _line(f"{wiki.section.folder}: "), _line(f"{wiki.section.folder}/")
    if wiki.paused is not None or not line.startswith((whole, pages)):
        return False
    if line.startswith(whole) and _APPROVE not in line:
        # why it could not go on
        return not wiki.results and (wiki.failure is None or is_transient(wiki.failure))
    if not wiki.results:
        return True
    if wiki.pages is None:
        return False
    # about one of the pages asked for, by its slug or its file
    subject = line.removeprefix(pages).partition(": ")[0]
    stem = (split_extension(subject) or (subject,))[0]
    return all(visible_line(slug) not in {subject, stem} for slug in wiki.pages)


# -- on the disk -------------------------------------------------------------------


def read_attention(root: Path) -> Sequence[str]:
    """The file's lines on what waits; FolderError where something else has its name."""
    path = root / ATTENTION_FILE
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return ()
    text = ""
    # should a link or a pipe come meanwhile, it is not followed, and not waited for
    if is_file:
        try:
            with safe_open.opened_below(root, ATTENTION_FILE) as file:
                content = safe_open.read_all(file, ATTENTION_FILE)
        except OSError:
            return ()  # it has just gone
        text = content.decode("utf-8", "replace")
    if not text.startswith(TITLE):
        raise errors.FolderError(
            f"{path} is not a file that wikisync wrote",
            hint="move the file; wikisync writes its own list there",
        )
    return tuple(line for line in text.split("\n") if line.startswith("- "))


def write_attention(root: Path, lines: Sequence[str]) -> None:
    """Write the file, or remove it where nobody is needed; FolderError if it cannot."""
    try:
        before = read_attention(root)
    except errors.FolderError:
        if not lines:
            return  # what is there is not ours, and nothing is to be said
        raise
    path = root / ATTENTION_FILE
    if lines and lines != before:
        content = attention_text(lines).encode("utf-8", "replace")
        write_atomically(root, ATTENTION_FILE, content)
    if not lines:
        with safe_open.folder_errors("remove", path):
            path.unlink(missing_ok=True)


@contextmanager
def noting_halts(root: Path) -> Iterator[None]:
    """Leave word in the file where the workspace is halted, until one is let in."""
    try:
        yield
    except errors.Halted as error:
        with suppress(errors.FolderError):
            line = _line(failure_sentence("the workspace", error))
            before = [one for one in read_attention(root) if one != line]
            write_attention(root, (line, *before))
        raise
