"""Sentences on what waits for a person: what it is, and the next step.  Pure.

``failures`` says which errors and problems need a person.
``attention_file`` shows the sentences in the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from msgspec.structs import replace

from wikisync.config import WikiSection
from wikisync.errors import (
    AuthenticationFailed,
    WikisyncError,
    command_line,
)
from wikisync.model import Problem, Slug
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.decide.safety import NO_ID, Batch, BatchKind
from wikisync.sync.run.result import Held
from wikisync.workspace.failures import is_transient, needs_person
from wikisync.workspace.syncing import Synced

SERVICE = "the service"
"""What sentences are about that are of no single wiki."""


def held_sentence(folder: str, held: Held) -> str:
    """One sentence on a page that waits, with the next step."""
    return f"{folder}/{held.slug}: {held}; {next_step(folder, held)}"


def next_step(folder: str, held: Held) -> str:
    """What a person does about a page that waits."""
    name = f"{folder}/{held.slug}"
    match held.reason:
        case HoldReason.EDITED_BOTH | HoldReason.CREATED_BOTH:
            # its file was removed, which only hides it, or something has its place
            first = f"see {command_line('diff', name)}; then"
            if held.step:
                first = f"{held.step}; or"
            if held.conflict_file:
                first = f"resolve {folder}/{held.conflict_file} and save it; or"
            keep = command_line("resolve", name, "--both")
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
                f" belong to the page, send it unchanged: {command_line('sync', name)}"
            )
        case HoldReason.POINTER:
            return (
                "get the text back: git lfs pull, or git annex get and unlock; or take"
                " the text of the other side:"
                f" {command_line('resolve', name, '--wiki')},"
                " or --mine where the pointer is on the wiki"
            )
        case HoldReason.REFUSED:
            # what it said before is about the text, its name, or the token's rights
            return (
                "fix the cause; wikisync retries when the file changes, on `wikisync"
                " sync`, and every 15 minutes"
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
    yes, no = command_line("approve", name), command_line("refuse", name)
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


def failure_sentence(subject: str, error: WikisyncError) -> str:
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
    is_shown_above = isinstance(failure, AuthenticationFailed)
    if failure is not None and not is_shown_above and not is_transient(failure):
        yield failure_sentence(section.folder, failure)
    yield from (batch_sentence(section.folder, batch) for batch in wiki.batches)
    yield from (held_sentence(section.folder, held) for held in wiki.held)
    for problem in wiki.problems:
        if needs_person(problem):
            yield problem_sentence(section, problem)
