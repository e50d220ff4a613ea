"""``make prove-guards``: each guard switched off makes a named proof fail.

    python -m tests.sync.prove_guards [GUARD]...

A guard is one function, method or constant; switched off, it is replaced by one
that lets everything pass.  Beside each stands the test or the schedule that must
notice.  A guard that nothing misses would be no guard.  Prints one row for each.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from threading import Lock
from typing import Any

import pytest

from wikisync.sync.decide.renames import NOTHING_TAKEN
from wikisync.sync.decide.rewinding import NO_REWINDING

ROOT = Path(__file__).parents[2]
SWITCH = "WIKISYNC_GUARD_OFF"
"""Names the guard that ``conftest`` switches off in a test process."""
TESTS_TIMEOUT_S = 600.0
FORKS = multiprocessing.get_context("forkserver")
ONE_THREAD = Lock()
"""A start asks all processes for their exit codes, which are told once."""
# what every proof imports; of wikisync nothing, or a guard that is switched off stayed
# on where its name was taken before
FORKS.set_forkserver_preload(
    ["pytest", "hypothesis", "aiohttp.web", "pygit2", "msgspec", "click"]
)
SCHEDULES = (
    "sync/test_schedules.py::test_no_edit_is_lost_whatever_happens_between_two_steps"
)
"""The proof that runs 60 schedules in a weather."""

Off = Callable[[Any], Any]
"""From what the guard is to what lets everything pass."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard, how it is switched off, and who must notice."""

    name: str
    place: str
    """``module:name`` or ``module:Class.name``."""
    off: Off
    proof: str
    """A test as pytest names it, relative to ``tests``."""

    def switch_off(self, patch: Callable[[Any, str, Any], None]) -> None:
        """Replace the guard by way of pytest's ``monkeypatch.setattr``."""
        module, _, way = self.place.partition(":")
        owner: Any = importlib.import_module(module)
        *classes, name = way.split(".")
        for part in classes:
            owner = getattr(owner, part)
        patch(owner, name, self.off(getattr(owner, name)))


def constant(value: object) -> Off:
    """Another value in the guard's place."""
    return lambda _guard: value


def answer(value: object) -> Off:
    """A function that answers the same whatever it is asked."""
    return lambda _guard: lambda *_args, **_kwargs: value


def async_answer(value: object) -> Off:
    """The same for a coroutine."""

    def switched(_guard: object) -> object:
        async def answering(*_args: object, **_kwargs: object) -> object:
            return value

        return answering

    return switched


def argument(number: int) -> Off:
    """A function that gives back one of its arguments as it was."""
    return lambda _guard: lambda *args, **_kwargs: args[number]


def _eager(execute: Any) -> Any:
    """Removals, whatever went wrong before."""

    async def carry_out(self: Any, decided: Any) -> None:
        self._cycle.tally.errors = _Forgetful()
        await execute(self, decided)

    return carry_out


class _Forgetful(list[Any]):
    """A list of problems that seems empty."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def _adopting(find: Any) -> Any:
    """Takes the wiki that has the path, whichever it is."""
    return lambda *args, **_adopts: find(*args, adopts=True)


def _newest_replaced(_edited: object) -> Any:
    """The text that was replaced last, whatever the file held."""

    def newest(cycle: Any, late: Any) -> Any:
        return late.slug, cycle.state.replaced(late.slug, 1)[0].replaced

    return newest


SYNC = "wikisync.sync"
MEMORY = "tests.support.memory:MemoryReplica"

GUARDS = (
    Guard(
        "read before the write",
        f"{MEMORY}._require",
        answer(None),
        "sync/test_push.py::test_a_page_that_changed_since_the_scan_is_not_overwritten",
    ),
    Guard(
        "read before the write, of the client",
        "wikisync.api.replica:WikiReplica._held",
        lambda _held: _unread,
        "contract/test_replica.py::test_text_is_replaced_only_as_it_was_expected",
    ),
    Guard(
        "compare before a file is replaced",
        "wikisync.folder.swap:check_expected",
        answer(None),
        "folder/test_swap.py::test_what_is_not_expected_stays",
    ),
    Guard(
        "look at what came out of a swap",
        "wikisync.folder.limbo:LimboBatch._give_back",
        answer(None),
        "folder/test_limbo.py::test_text_saved_right_before_the_swap_goes_back_in",
    ),
    Guard(
        "ring of replaced texts",
        f"{SYNC}.base.history:History.remember_replaced",
        answer(0),
        "sync/test_kept_back.py::test_what_a_pull_replaces_is_kept",
    ),
    Guard(
        "old editor windows",
        f"{SYNC}.run.merging:stale_ancestor",
        answer(None),
        "sync/test_kept_back.py::test_a_save_from_an_old_window_takes_nothing_back",
    ),
    Guard(
        "a second save is meant",
        f"{SYNC}.run.pull:_merge",
        lambda merge: _never_stale(merge),  # noqa: PLW0108 - it is defined below
        "sync/test_kept_back.py::test_the_same_save_once_more_is_meant",
    ),
    Guard(
        "intents are looked after",
        f"{SYNC}.run.cycle:settle_intents",
        async_answer(None),
        "sync/test_intents.py",
    ),
    Guard(
        "patience with absences",
        f"{SYNC}.run.removals:is_certain",
        answer(True),
        "sync/test_sightings.py::test_a_page_gone_from_the_wiki_goes_at_the_third_scan",
    ),
    Guard(
        "pages that cannot be read may be renamed ones",
        f"{SYNC}.run.removals:_new_unread",
        async_answer(frozenset()),
        "sync/test_sightings.py"
        "::test_a_page_that_may_be_a_new_one_that_cannot_be_read_stays",
    ),
    Guard(
        "missing pages are asked for",
        f"{SYNC}.run.removals:still_there",
        async_answer(None),
        "sync/test_sightings.py"
        "::test_a_page_that_the_list_lacks_and_the_wiki_still_has_stays",
    ),
    Guard(
        "control read",
        f"{SYNC}.run.removals:is_answering",
        async_answer(True),
        "sync/test_sightings.py::test_a_wiki_that_denies_everything_is_not_believed",
    ),
    Guard(
        "brakes",
        f"{SYNC}.decide.safety:_is_too_much",
        answer(False),
        "sync/test_kept_back.py::test_many_absences_wait_for_a_yes_and_edits_go_on",
    ),
    Guard(
        "never all pages",
        f"{SYNC}.decide.safety:removals_max",
        lambda _guard: lambda tracked: tracked,
        "sync/test_kept_back.py::test_an_empty_folder_deletes_no_page_on_the_wiki",
    ),
    Guard(
        "brake for shrunken pages",
        f"{SYNC}.decide.safety:shrunk_pages",
        answer(frozenset()),
        "sync/test_kept_back.py::test_a_page_that_lost_nearly_all_its_text_waits",
    ),
    Guard(
        "names that another page takes",
        f"{SYNC}.run.deciding:names_taken",
        async_answer((NOTHING_TAKEN, NOTHING_TAKEN)),
        "sync/test_names_taken.py::"
        "test_edit_follows_a_page_whose_name_another_one_took_on_the_wiki",
    ),
    Guard(
        "sides that kept next to nothing are not merged",
        "wikisync.merging.merge:KEPT_SHARE",
        constant(0.0),
        "merging/test_merge.py::"
        "test_side_that_kept_next_to_nothing_clashes_with_an_edit_of_the_rest",
    ),
    Guard(
        "older copy of the folder",
        f"{SYNC}.run.filters:folder_rewinding_of",
        answer(NO_REWINDING),
        "sync/test_older_copies.py::"
        "test_older_copy_of_the_folder_takes_nothing_back_unasked",
    ),
    Guard(
        "marker lines are not sent",
        f"{SYNC}.run.filters:has_marker",
        answer(False),
        "sync/test_push.py::test_a_text_with_a_marker_line_is_never_sent",
    ),
    Guard(
        "memory of refusals",
        f"{SYNC}.run.filters:REFUSAL_S",
        constant(0.0),
        "sync/test_push.py::test_a_refused_page_waits_and_the_others_go_on",
    ),
    Guard(
        "loop breaker",
        f"{SYNC}.run.filters:SAME_TEXT_MAX",
        constant(1_000_000),
        "sync/test_push.py::test_a_text_that_something_changes_back_is_held",
    ),
    Guard(
        "values of the state",
        f"{SYNC}.base.database:Database.reading",
        answer(nullcontext()),
        "sync/test_damage.py::test_value_that_was_never_written_is_damage",
    ),
    Guard(
        "same wiki as last time",
        "wikisync.workspace.identity:find_wiki",
        _adopting,
        "workspace/test_identity.py::test_path_of_another_project_stops_the_wiki",
    ),
    Guard(
        "deletes last and only in a clean cycle",
        f"{SYNC}.run.cycle:_Run._carry_out",
        _eager,
        "sync/test_sightings.py::test_nothing_is_removed_in_a_cycle_with_an_error",
    ),
    Guard(
        "open editors",
        f"{SYNC}.decide.narrowing:around_editors",
        argument(0),
        "sync/test_cycle.py::test_an_open_page_is_pulled_when_it_is_closed",
    ),
    Guard(
        "another text in the answer",
        f"{SYNC}.run.push:normalisation_of",
        lambda _guard: _always_unicode,
        "sync/test_push.py::test_another_text_in_the_answer_is_somebodys_edit",
    ),
    Guard(
        "line ends are no edit",
        f"{SYNC}.run.deciding:_is_folded",
        answer(False),
        "sync/test_cycle.py::test_line_ends_alone_are_no_edit",
    ),
    Guard(
        "a file's own line ends",
        f"{SYNC}.run.pull:with_line_ends_of",
        argument(0),
        "sync/test_cycle.py::test_a_file_in_windows_style_keeps_its_line_ends",
    ),
    Guard(
        "late saves",
        f"{SYNC}.run.merging:_merge_late",
        async_answer(True),
        "sync/test_late.py::test_a_late_save_is_merged_with_what_replaced_it",
    ),
    Guard(
        "files that a program has open",
        "wikisync.folder.limbo:has_writer",
        answer(False),
        "cli/test_late.py::test_appended_lines_reach_pages",
    ),
    Guard(
        "a late save's own ancestor",
        f"{SYNC}.run.merging:_edited_text",
        _newest_replaced,
        "sync/test_late.py::test_a_late_save_is_an_edit_of_what_its_file_held",
    ),
    Guard(
        "a person's work on a conflict file",
        f"{SYNC}.run.holds:Holds._show",
        lambda show: _always_fresh(show),  # noqa: PLW0108 - it is defined below
        "sync/test_holds.py::test_a_begun_settlement_is_never_written_over",
    ),
    Guard(
        "trash before a removal on the wiki",
        f"{MEMORY}.keep",
        async_answer(None),
        "sync/test_push.py::test_a_removed_page_is_in_the_trash_before_it_is_removed",
    ),
    Guard(
        "ignored is not deleted",
        f"{MEMORY}.untracked",
        async_answer(frozenset()),
        "sync/test_sightings.py::test_an_ignored_page_is_deleted_nowhere",
    ),
    Guard(
        "soundness of a merge",
        "wikisync.merging.merge:_is_sound",
        answer(True),
        "merging/test_merge.py::test_fault_in_the_merger_holds_the_page",
    ),
    Guard(
        "a wiki that went back in time",
        f"{SYNC}.run.filters:rewinding_of",
        answer(NO_REWINDING),
        "sync/test_rewinding.py::test_nothing_is_taken_back_unasked",
    ),
    Guard(
        "pages that wait while a wiki goes back",
        f"{SYNC}.decide.rewinding:Rewinding.waits",
        answer(False),
        "sync/test_rewinding_waiting.py::test_a_page_that_waits_is_part_of_what_is_held",
    ),
    Guard(
        "the newer text of a page that waits",
        f"{SYNC}.run.pull:rebase_here",
        async_answer(None),
        "sync/test_rewinding_waiting.py"
        "::test_refused_it_is_merged_with_what_is_edited_on_top_of_its_older_text",
    ),
    Guard(
        "a wiki whose history lacks the last sync",
        f"{SYNC}.run.filters:rewinding_by_history",
        answer(NO_REWINDING),
        f"{SCHEDULES}[last commit pushed over]",
    ),
    Guard(
        "what changed since a sync that is taken back",
        f"{SYNC}.run.undoing:_why_left",
        answer(""),
        f"{SCHEDULES}[syncs taken back]",
    ),
    Guard(
        "removals within an hour",
        f"{SYNC}.decide.safety:removed_unasked",
        answer({}),
        "sync/test_cycle.py::test_pages_removed_one_after_the_other_are_asked_about",
    ),
    Guard(
        "renames in two writes",
        "wikisync.core.model:renames_under_way",
        answer({}),
        "sync/test_intents.py"
        "::test_another_folder_takes_no_temporary_name_for_a_persons",
    ),
    Guard(
        "emptied directories",
        f"{SYNC}.run.filters:emptied_pages",
        async_answer(frozenset()),
        "sync/test_cycle.py::test_pages_of_a_directory_that_is_left_empty_wait",
    ),
    Guard(
        "what follows a rename that waits",
        f"{SYNC}.decide.safety:_followers",
        answer({}),
        "sync/test_cycle.py"
        "::test_no_file_is_renamed_into_a_directory_that_is_left_empty",
    ),
    Guard(
        "nothing below an emptied directory",
        f"{SYNC}.run.filters:emptied_pages",
        async_answer(frozenset()),
        f"{SCHEDULES}[disks that come and go]",
    ),
    Guard(
        "a conflict file as it was read",
        "tests.sync.simulated:is_as_expected",
        answer(True),
        f"{SCHEDULES}[conflict files]",
    ),
    Guard(
        "files of renamed pages",
        f"{SYNC}.decide.plan:Plan.files",
        constant({}),
        "cli/test_spellings.py::test_page_whose_file_got_spaces_is_merged",
    ),
    Guard(
        "late saves of programs",
        f"{SYNC}.run.merging:_merge_late",
        async_answer(True),
        f"{SCHEDULES}[appending programs]",
    ),
    Guard(
        "a cut rename whose names are taken",
        f"{SYNC}.run.push:_give_back",
        lambda _guard: _given_back,
        "sync/test_intents.py"
        "::test_a_rename_whose_names_are_both_taken_keeps_no_other_page_back",
    ),
    Guard(
        "conflict files that went with their pages",
        f"{SYNC}.run.holds:Holds._file_of",
        lambda _guard: _beside_its_page,
        "sync/test_holds.py"
        "::test_a_settled_text_becomes_a_page_whatever_became_of_its_own",
    ),
    Guard(
        "uploads by content",
        f"{SYNC}.base.agreements:Agreements.upload_of",
        answer(None),
        "sync/test_translation.py::test_a_picture_is_uploaded_once_for_many_pages",
    ),
    Guard(
        "no link out of the folder",
        "wikisync.folder.index:opened_file",
        lambda _guard: _followed,
        "folder/test_loose.py::test_a_symbolic_link_is_never_followed",
    ),
    Guard(
        "a whole scan for more than texts",
        "wikisync.sync.run.cycle:is_saved_enough",
        answer(True),
        "sync/test_saved.py::test_an_absence_counts_only_where_it_is_looked_for",
    ),
    Guard(
        "folder marker",
        "wikisync.folder.workspace:state_match",
        lambda _guard: _same_place,
        "folder/test_workspace.py::test_missing_marker_stops_and_offers_to_adopt",
    ),
    Guard(
        "this machine, this place",
        "wikisync.folder.workspace:state_match",
        lambda _guard: _same_place,
        "folder/test_workspace.py::test_workspace_that_comes_back_to_a_machine_is_shared",
    ),
    Guard(
        "this folder of a wiki",
        "wikisync.folder.workspace:FolderIdentity.is_same_folder",
        answer(True),
        "folder/test_workspace.py::test_a_folder_in_the_place_of_another_is_another",
    ),
    Guard(
        "state or lock that another one replaced",
        "wikisync.workspace.opening:OpenWorkspace.has_lost_state",
        constant(False),
        "watch/test_wiki.py::test_no_cycle_runs_on_a_state_that_another_one_replaced",
    ),
    Guard(
        "emptied folder",
        "wikisync.folder.workspace:refuse_emptied",
        answer(None),
        "folder/test_workspace.py::test_folder_that_had_pages_and_is_empty_stops",
    ),
    Guard(
        "one folder in another",
        "wikisync.folder.workspace:refuse_overlaps",
        answer(None),
        "folder/test_workspace.py::test_folders_that_overlap_are_refused",
    ),
    Guard(
        "settling of fresh files",
        "wikisync.folder.replica:SETTLE_MAX_S",
        constant(0.0),
        "folder/test_two_way.py::test_scan_waits_for_a_file_that_was_just_saved",
    ),
)


def _always_unicode(sent: str, answered: str) -> Any:
    from wikisync.sync.run.push import Normalisation

    return Normalisation.SAME if sent == answered else Normalisation.UNICODE


async def _unread(self: Any, slug: Any, _expected: object) -> Any:
    return await self.read(slug)


def _same_place(*_args: object) -> Any:
    from wikisync.folder.workspace import StateMatch

    return StateMatch.SAME


def _never_stale(merge: Any) -> Any:
    async def forgetting(cycle: Any, action: Any, merged: Any) -> None:
        from msgspec.structs import replace

        await merge(cycle, action, replace(merged, stale=None))

    return forgetting


async def _given_back(cycle: Any, intent: Any, left: Any) -> bool:
    await cycle.remote.move(left.slug, intent.slug, expected=left.digest)
    return True


async def _beside_its_page(self: Any, slug: Any, _record: object) -> Any:
    return slug, await self._cycle.local.conflict_file(slug)


def _always_fresh(show: Any) -> Any:
    async def fresh(self: Any, merged: Any) -> bool:
        self._cycle.state.drop_conflict_file(merged.slug)
        return bool(await show(self, merged))

    return fresh


def _followed(folders: Any, path: str) -> Any:
    """Opens what a link leads to, wherever that is."""
    import contextlib
    import os

    @contextlib.contextmanager
    def opened() -> Any:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folders._root)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    return opened()


def guard_named(name: str) -> Guard:
    """The guard of this name.

    Raises:
        KeyError: there is none.
    """
    return {guard.name: guard for guard in GUARDS}[name]


def is_missed(guard: Guard, *, off: bool = True) -> tuple[bool, float]:
    """Whether the proof fails with the guard off, and how long that took.

    Args:
        guard: The guard.
        off: Switch it off; False to see that the proof passes with it.
    """
    started = time.perf_counter()
    with NamedTemporaryFile() as said, TemporaryDirectory() as place:
        switched = guard.name if off else ""
        process = FORKS.Process(
            target=_prove, args=(switched, guard.proof, said.name, place)
        )
        with ONE_THREAD:
            process.start()
        wait([process.sentinel], TESTS_TIMEOUT_S)
        with ONE_THREAD:
            process.kill()
            process.join()
        # 1: tests failed; anything else says that the proof itself is broken
        assert process.exitcode in {0, 1}, said.read()[-2_000:].decode()
    return process.exitcode == 1, time.perf_counter() - started


def _prove(guard: str, proof: str, said: str, place: str) -> None:
    """Run a proof in this new process, and end it with the exit code of pytest."""
    # a fork ends without what would clear this at the end of a process
    tempfile.tempdir = place
    output = os.open(said, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(ROOT)
    # loading the plug-ins that no proof needs would take twice as long as the proof
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", SWITCH: guard}
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin")
    sys.exit(pytest.main([*options, f"tests/{proof}"]))


def main(names: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guards", nargs="*", metavar="GUARD")
    wanted = parser.parse_args(names).guards
    guards = [guard_named(name) for name in wanted] or list(GUARDS)
    print("| guard switched off | what notices | noticed | s |")
    print("|---|---|---|---|")
    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for guard, (noticed, took_s) in zip(
            guards, pool.map(is_missed, guards), strict=True
        ):
            failed = failed or not noticed
            word = "yes" if noticed else "NO"
            print(
                f"| {guard.name} | `{guard.proof}` | {word} | {took_s:.1f} |",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
