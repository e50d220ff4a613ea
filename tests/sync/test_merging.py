"""What comes of planned merges when the texts are looked at."""

import threading
from collections.abc import Sequence

import pytest

from tests.support.copies import PAGES, Copies, rested
from wikisync.merging import merge as merge_module
from wikisync.merging.diff import changes
from wikisync.sync.base.state import State
from wikisync.sync.decide.plan import HoldReason
from wikisync.sync.run import merging, parts

TEXT = "one\ntwo\nthree\n"


async def edited_both(state: State) -> Copies:
    copies = await rested(state, PAGES)
    copies.here.put("home", TEXT.replace("one", "one, here"))
    copies.there.put("home", TEXT.replace("three", "three, there"))
    return copies


async def test_a_text_that_changed_while_it_was_decided_is_decided_anew(
    state: State,
) -> None:
    copies = await edited_both(state)
    again = TEXT.replace("one", "one, once more")
    copies.here.before_once("read home", lambda: copies.here.put("home", again))
    first = await copies.cycle()
    assert first.has_more
    assert not first.merged
    await copies.rest()
    assert copies.texts()["home"] == "one, once more\ntwo\nthree, there\n"


async def test_a_merge_finds_a_page_that_is_renamed_twice(state: State) -> None:
    """On the wiki it goes along with the page above it, and then its own way."""
    copies = await rested(state, {"team": "team\n", "team/rules": TEXT})
    await copies.rest()
    copies.rename_here("team", "group")
    copies.rename_here("team/rules", "rules")
    copies.here.put("rules", TEXT.replace("one", "one, here"))
    copies.there.put("team/rules", TEXT.replace("three", "three, there"))
    result = await copies.cycle()
    assert (result.renamed, result.merged) == (2, 1)
    await copies.rest()
    assert copies.texts()["rules"] == "one, here\ntwo\nthree, there\n"


async def test_large_texts_are_merged_beside_the_loop(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = await edited_both(state)
    monkeypatch.setattr(parts, "THREAD_CHARS_MIN", 1)
    threads: list[threading.Thread] = []
    merge = merge_module.merge

    def noted(*args: object, **kwargs: object) -> object:
        threads.append(threading.current_thread())
        return merge(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "merge_texts", noted)
    await copies.rest()
    assert threads
    assert threading.main_thread() not in threads


async def test_large_texts_without_an_ancestor_are_compared_beside_the_loop(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop was silent for five seconds of a page of 32 MiB."""
    copies = Copies(state)
    copies.here.put("home", "mine\n")
    copies.there.put("home", "theirs\n")
    monkeypatch.setattr(parts, "THREAD_CHARS_MIN", 1)
    threads: list[threading.Thread] = []

    def noted(*args: Sequence[str]) -> object:
        threads.append(threading.current_thread())
        return changes(*args)

    monkeypatch.setattr(merging, "changes", noted)
    result = await copies.rest()
    assert [one.reason for one in result.held] == [HoldReason.CREATED_BOTH]
    assert threads
    assert threading.main_thread() not in threads
