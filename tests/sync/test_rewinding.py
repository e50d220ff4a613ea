"""A wiki that goes back in time: a backup is restored, or somebody pushes by force."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.copies import Copies, Died
from tests.support.git import clone, commit_and_push, needs_git, run_git
from tests.support.memory import nothing_before
from tests.support.pair import OWNER as PAIRED
from tests.support.pair import paired
from tests.support.pictures import RED, put
from wikisync.errors import Unavailable
from wikisync.model import Format, Slug, WikiOwner
from wikisync.service.quirks import Quirk
from wikisync.sync.base.agreements import EARLIER_MAX
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import REPLACED_CHECK_EVERY, REPLACED_KEPT_S
from wikisync.sync.decide.plan import HoldReason, SkipReason
from wikisync.sync.decide.safety import Batch, BatchKind, Decision
from wikisync.sync.run.options import CycleOptions

PAGES = {f"page{number}": f"text {number}\n" for number in range(9)}
EDITED = {slug: f"{PAGES[slug]}\nwork of a day\n" for slug in list(PAGES)[:4]}
NEW = {"fresh1": "made that day\n", "fresh2": "made that day, too\n"}
NEWEST = {**PAGES, **EDITED, **NEW}


async def worked(state: State) -> Copies:
    """A wiki with a day of work on both sides."""
    copies = Copies(state, PAGES)
    await copies.rest()
    for at, (slug, text) in enumerate({**EDITED, **NEW}.items()):
        (copies.here if at % 2 else copies.there).put(slug, text)
    await copies.rest()
    return copies


def rewind(copies: Copies) -> None:
    """The wiki as it was before that day."""
    for slug in NEW:
        del copies.there.pages[Slug(slug)]
    for slug in EDITED:
        copies.there.put(slug, PAGES[slug])


async def rewound(state: State) -> Copies:
    copies = await worked(state)
    rewind(copies)
    for _ in range(8):
        await copies.cycle()
    return copies


def waiting(copies: Copies) -> list[Batch]:
    return [b for b in copies.known.batches() if b.decision is Decision.WAITING]


async def test_nothing_is_taken_back_unasked(state: State) -> None:
    """However often it is looked at: by then the new pages are surely gone there."""
    copies = await rewound(state)
    assert copies.here.texts() == NEWEST
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    assert {member.slug for member in batch.members} == EDITED.keys() | NEW.keys()
    assert "the wiki returned to an older state" in str(batch)


async def test_refused_it_puts_the_newer_texts_back_on_the_wiki(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_refused_at_once_it_puts_the_new_pages_back_too(state: State) -> None:
    """Also before it is certain that they are missing."""
    copies = await worked(state)
    rewind(copies)
    await copies.cycle()
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_approved_it_follows_the_wiki(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts() == PAGES


async def test_edits_made_here_since_go_on_while_it_waits(state: State) -> None:
    copies = await rewound(state)
    copies.here.put("page8", "edited here meanwhile\n")
    copies.there.put("page7", "edited there meanwhile\n")
    await copies.cycle()
    assert copies.there.texts()["page8"] == "edited here meanwhile\n"
    assert copies.here.texts()["page7"] == "edited there meanwhile\n"
    assert waiting(copies)


async def test_a_page_edited_here_and_set_back_there_is_no_merge(state: State) -> None:
    """It would take the work of that day out of the text that a person just wrote."""
    copies = await worked(state)
    rewind(copies)
    mine = EDITED["page0"] + "\nedited here\n"
    copies.here.put("page0", mine)
    await copies.cycle()
    assert copies.here.texts()["page0"] == mine
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["page0"] == mine


@pytest.mark.parametrize("count", [1, 2])
async def test_a_few_reverts_are_edits(count: int, state: State) -> None:
    copies = await worked(state)
    for slug in list(EDITED)[:count]:
        copies.there.put(slug, PAGES[slug])
    await copies.rest()
    assert copies.texts() == {**NEWEST, **{s: PAGES[s] for s in list(EDITED)[:count]}}


async def test_reverts_among_more_new_edits_are_edits(state: State) -> None:
    copies = await worked(state)
    for slug in list(EDITED)[:3]:
        copies.there.put(slug, PAGES[slug])
    for slug in list(PAGES)[4:8]:
        copies.there.put(slug, "a new text\n")
    await copies.rest()
    assert not waiting(copies)


async def test_a_wiki_that_was_followed_may_go_forward_again(state: State) -> None:
    copies = await rewound(state)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    for slug, text in NEWEST.items():
        copies.there.put(slug, text)
    await copies.rest()
    assert copies.texts() == NEWEST


async def test_a_page_of_another_wiki_has_texts_of_its_own(state: State) -> None:
    await worked(state)
    another = state.wiki(WikiOwner("group", "docs"))
    assert another.earlier([Slug("page0")]) == {Slug("page0"): frozenset()}


async def test_so_many_earlier_texts_of_a_page_are_known(state: State) -> None:
    copies = Copies(state, PAGES)
    await copies.rest()
    for turn in range(EARLIER_MAX + 5):
        copies.here.put("page0", f"turn {turn}\n")
        await copies.cycle()
    assert len(copies.known.earlier([Slug("page0")])[Slug("page0")]) == EARLIER_MAX


# -- what the wiki's history says -----------------------------------------------------


class Told(Copies):
    """Copies whose wiki tells its newest commit."""

    def commit(self) -> str:
        """Another commit of the wiki, whatever is in it."""
        name = f"commit {len(self.there.commits)}"
        self.there.commits.append(name)
        self.there.committed[name] = self.there.texts()
        return name

    def asked(self) -> list[str]:
        """What was asked about the history since this was asked last."""
        found = [one for one in self.there.log if one.split()[0] in ASKED]
        self.there.log.clear()
        return [one.split()[0] for one in found]


ASKED = {"head", "follows"}


async def told(state: State) -> Told:
    """Both sides in sync, and the history known."""
    copies = Told(state, PAGES)
    copies.commit()
    await copies.rest()
    copies.there.put("page0", EDITED["page0"])
    copies.commit()
    await copies.rest()
    return copies


def force(copies: Told) -> None:
    """Somebody takes the last commit back by force."""
    copies.there.commits[-1:] = ["forced"]
    copies.there.put("page0", PAGES["page0"])
    copies.there.committed["forced"] = copies.there.texts()


async def forced(state: State) -> Told:
    copies = await told(state)
    force(copies)
    for _ in range(4):
        await copies.cycle()
    return copies


async def test_one_page_pushed_over_by_force_is_held(state: State) -> None:
    copies = await forced(state)
    assert copies.here.texts()["page0"] == EDITED["page0"]
    (batch,) = waiting(copies)
    assert (batch.kind, len(batch.members)) == (BatchKind.REWOUND, 1)


async def test_one_page_that_a_person_reverts_is_not(state: State) -> None:
    copies = await told(state)
    copies.commit()
    copies.there.put("page0", PAGES["page0"])
    await copies.rest()
    assert copies.texts() == PAGES


async def test_nor_are_many_pages_that_a_person_reverts(state: State) -> None:
    """An undo in another folder may take back a hundred of them."""
    copies = await told(state)
    for slug, text in EDITED.items():
        copies.there.put(slug, text)
    copies.commit()
    await copies.rest()
    for slug in EDITED:
        copies.there.put(slug, PAGES[slug])
    copies.commit()
    await copies.rest()
    assert copies.texts() == PAGES
    assert not waiting(copies)


async def test_a_page_that_clashes_with_the_older_text_is_held_whole(
    state: State,
) -> None:
    """A conflict file would take the wiki's removals for edits."""
    copies = await told(state)
    force(copies)
    mine = EDITED["page0"].replace("a day", "two days")
    copies.here.put("page0", mine)
    await copies.rest()
    assert waiting(copies)
    assert not copies.here.conflicts
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["page0"] == mine


async def test_a_conflict_that_waits_asks_once(state: State) -> None:
    copies = await told(state)
    copies.commit()
    copies.here.put("page1", "mine\n")
    copies.there.put("page1", "theirs\n")
    await copies.rest()
    copies.asked()
    for _ in range(2):
        await copies.cycle()
    assert copies.asked() == []


async def test_a_text_that_was_never_seen_here_is_held_too(state: State) -> None:
    """A backup may be from between two syncs."""
    copies = await told(state)
    copies.there.commits[-1:] = ["forced"]
    copies.there.put("page0", "a text of before\n")
    await copies.rest()
    assert waiting(copies)


async def test_a_page_that_the_history_lacks_is_held(state: State) -> None:
    copies = await told(state)
    copies.here.put("fresh", "made today\n")
    await copies.cycle()
    del copies.there.pages[Slug("fresh")]
    copies.there.commits[-1:] = ["forced"]
    for _ in range(6):
        await copies.cycle()
    assert waiting(copies)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["fresh"] == "made today\n"


async def test_refused_the_one_page_is_put_back(state: State) -> None:
    copies = await forced(state)
    copies.decide(Decision.REFUSED)
    copies.commit()
    await copies.rest()
    assert copies.texts()["page0"] == EDITED["page0"]


@pytest.mark.parametrize("decision", [Decision.REFUSED, Decision.APPROVED])
async def test_what_is_edited_after_the_decision_is_an_edit(
    decision: Decision, state: State
) -> None:
    copies = await forced(state)
    copies.decide(decision)

    async def commit(entry: str) -> None:
        if entry == "head " and copies.there.changes[-1:] == ["write page0"]:
            copies.commit()

    copies.there.log.clear()
    copies.there.before = commit
    await copies.cycle()
    copies.commit()
    copies.there.put("page1", "edited\n")
    await copies.rest()
    assert copies.texts()["page1"] == "edited\n"
    assert not waiting(copies)


async def test_a_refusal_that_failed_is_carried_out_later(state: State) -> None:
    copies = await forced(state)
    copies.decide(Decision.REFUSED)
    copies.there.loses = {"write"}
    await copies.cycle()
    copies.there.put("page0", PAGES["page0"])
    copies.there.loses = set()
    await copies.rest()
    assert copies.texts()["page0"] == EDITED["page0"]


async def rename_taken_back(state: State, text: str, *, in_the_way: str = "") -> Told:
    copies = await told(state)
    known = copies.there.identities
    known[Slug("page8")] = "8"
    await copies.rest()
    copies.rename_here("page8", "renamed")
    copies.here.put("renamed", text)
    await copies.cycle()
    await copies.rest()
    copies.rename_there("renamed", "page8")
    known[Slug("page8")] = known.pop(Slug("renamed"))
    copies.there.put("page8", PAGES["page8"])
    copies.there.commits[-1:] = ["forced"]
    if in_the_way:
        copies.here.put("page8", in_the_way)
    for _ in range(4):
        await copies.cycle()
    return copies


async def test_a_rename_is_taken_back_by_a_yes_alone(state: State) -> None:
    copies = await rename_taken_back(state, PAGES["page8"])
    assert "renamed" in copies.here.texts()
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts()["page8"] == PAGES["page8"]


@pytest.mark.parametrize("text", [PAGES["page8"], PAGES["page8"] + "more\n"])
async def test_refused_a_page_gets_its_newer_name_and_text_back(
    text: str, state: State
) -> None:
    copies = await rename_taken_back(state, text)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert copies.texts()["renamed"] == text
    assert "page8" not in copies.texts()


async def test_refused_a_page_waits_for_its_newer_name_with_both_names_told(
    state: State,
) -> None:
    """Its name is put back once the page that has one like it is gone."""
    copies = await rename_taken_back(state, PAGES["page8"])
    copies.there.put("Renamed", "of another case\n")
    copies.decide(Decision.REFUSED)
    for _ in range(3):
        result = await copies.cycle()
    assert ("page8", "renamed") in {(one.slug, one.detail) for one in result.held}
    copies.there.remove("Renamed")
    await copies.rest()
    assert copies.texts()["renamed"] == PAGES["page8"]
    assert "page8" not in copies.texts()


async def test_refused_a_later_edit_there_is_merged(state: State) -> None:
    """The refusal was about the wiki's text of then."""
    copies = await rename_taken_back(state, PAGES["page8"])
    copies.here.put("renamed", PAGES["page8"] + "\nmine\n")
    await copies.cycle()
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    assert copies.there.texts()["renamed"] == PAGES["page8"]
    copies.there.put("renamed", "theirs\n\n" + PAGES["page8"])
    copies.commit()
    await copies.rest()
    both = "theirs\n\n" + PAGES["page8"] + "\nmine\n"
    assert copies.texts()["renamed"] == both


async def test_following_the_wiki_loses_no_text_for_good(state: State) -> None:
    """The wiki's history may hold it no more."""
    copies = await forced(state)
    copies.decide(Decision.APPROVED)
    await copies.rest()
    copies.now += 10 * REPLACED_KEPT_S
    for turn in range(2 * REPLACED_CHECK_EVERY):
        copies.known.remember_replaced(
            Slug("page1"), f"{turn}", "x", copies.now, is_contained=True
        )
    kept = [one.replaced for one in copies.known.replaced(Slug("page0"))]
    assert EDITED["page0"] in kept


async def test_pages_that_go_with_the_wiki_are_kept_for_good(state: State) -> None:
    copies = await worked(state)
    rewind(copies)
    for _ in range(8):
        await copies.cycle()
    copies.decide(Decision.APPROVED)
    await copies.rest()
    (kept,) = copies.known.replaced(Slug("fresh1"))
    assert kept.replaced == NEW["fresh1"]


async def test_following_asks_once_however_many_pages_go(state: State) -> None:
    copies = Copies(state, PAGES)
    await copies.rest()
    many = {f"new{number}": f"{number}\n" for number in range(8)}
    for slug, text in {**EDITED, **many}.items():
        copies.here.put(slug, text)
    await copies.rest()
    for slug in many:
        del copies.there.pages[Slug(slug)]
    for slug in EDITED:
        copies.there.put(slug, PAGES[slug])
    await copies.cycle()
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts() == PAGES


# -- a push after which the service does not tell its newest commit --------------------


async def pushed_untold(state: State, slug: str, text: str) -> tuple[Told, list[str]]:
    """A page was pushed, and nobody knows the commit; the wiki's history before it."""
    copies = await told(state)
    before, copies.there.commits = copies.there.commits, []
    copies.here.put(slug, text)
    await copies.cycle()
    assert copies.there.texts()[slug] == text
    return copies, before


async def test_what_was_pushed_untold_is_held_where_it_is_taken_back(
    state: State,
) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", PAGES["page1"])
    for _ in range(4):
        await copies.cycle()
    assert copies.here.texts()["page1"] == "mine\n"
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND


async def test_so_is_a_page_that_was_created_untold(state: State) -> None:
    copies, before = await pushed_untold(state, "fresh", "made today\n")
    copies.there.commits = before
    copies.there.remove("fresh")
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


@pytest.mark.parametrize("is_told", [False, True])
async def test_so_is_one_that_returns_to_its_text_of_before(
    state: State, *, is_told: bool
) -> None:
    """Whether no commit is known yet, or one from before our text."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.put("page1", PAGES["page1"])
    if is_told:
        copies.there.commits = before
        copies.commit()
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def test_so_is_a_page_that_the_second_push_created_untold(state: State) -> None:
    """The commit of the first one is in the history, and that is all it proves."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.here.put("fresh", "made today\n")
    await copies.cycle()
    copies.there.commits = before
    copies.there.remove("fresh")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


async def test_what_is_taken_back_before_the_commit_is_asked_for_is_held(
    state: State,
) -> None:
    """The history tells a commit then, and it is the one of before."""
    copies = await told(state)
    copies.here.put("page1", "mine\n")
    await copies.cycle()
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def die_at_head(copies: Told) -> None:
    """A cycle whose process ends when it asks for the wiki's commit."""

    async def dies(entry: str) -> None:
        if entry.startswith("head "):
            raise Died

    copies.there.before = dies
    with pytest.raises(Died):
        await copies.cycle()
    copies.there.before = nothing_before


async def test_so_is_what_the_first_sync_created_before_it_was_killed(
    state: State,
) -> None:
    copies = Told(state, PAGES)
    copies.here.put("fresh", "made today\n")
    await die_at_head(copies)
    copies.there.remove("fresh")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


async def test_so_is_what_a_process_pulled_that_was_killed_before_it_noted_that(
    state: State,
) -> None:
    """The next cycle finds both sides equal, and the wiki further than was known."""
    copies = await told(state)
    for side in (copies.here, copies.there):
        side.put("page1", "theirs\n")
    await die_at_head(copies)
    assert copies.known.is_head_old
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "theirs\n"
    assert waiting(copies)


async def test_so_is_what_a_process_pushed_that_was_killed_then(state: State) -> None:
    copies = await told(state)

    copies.here.put("page1", "mine\n")
    await die_at_head(copies)
    assert copies.there.texts()["page1"] == "mine\n"
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


async def test_so_is_a_page_that_is_taken_back_and_edited_anew(state: State) -> None:
    """It looks like an edit on top of ours, but no commit has our text."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", PAGES["page1"] + "edited there\n")
    copies.commit()
    for _ in range(4):
        await copies.cycle()
    assert copies.here.texts()["page1"] == "mine\n"
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    copies.decide(Decision.REFUSED)
    copies.commit()
    await copies.rest()
    assert copies.texts()["page1"] == "mine\n"


@pytest.mark.parametrize("is_forced", [True, False])
async def test_so_is_a_page_that_the_sync_before_the_last_one_created_untold(
    state: State, *, is_forced: bool
) -> None:
    """But not one that a person deleted after all."""
    copies, before = await pushed_untold(state, "fresh", "made today\n")
    copies.there.commits = before
    if not is_forced:
        copies.commit()
    before, copies.there.commits = copies.there.commits, []
    copies.here.put("page1", "mine\n")
    await copies.cycle()
    copies.there.commits = before
    copies.there.remove("fresh")
    copies.there.put("page2", "edited there\n")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert ("fresh" in copies.here.texts()) is is_forced
    assert bool(waiting(copies)) is is_forced


async def test_so_is_a_page_whose_name_another_one_had_in_the_history(
    state: State,
) -> None:
    """That page was deleted before ours was created and taken back."""
    copies = await told(state)
    copies.there.put("fresh", "of another page\n")
    copies.here.put("page1", "mine\n")
    copies.commit()
    await copies.rest()
    before, copies.there.commits = copies.there.commits, []
    copies.there.remove("fresh")
    for _ in range(4):
        await copies.cycle()
    copies.here.put("fresh", "made today\n")
    await copies.cycle()
    assert copies.there.texts()["fresh"] == "made today\n"
    copies.there.commits = before
    copies.there.remove("fresh")
    copies.there.put("page2", "edited there\n")
    copies.commit()
    for _ in range(6):
        await copies.cycle()
    assert copies.here.texts()["fresh"] == "made today\n"
    assert waiting(copies)


async def test_so_is_one_that_was_pushed_untold_right_after_a_refusal(
    state: State,
) -> None:
    """The commit that was told after the refusal is of the history of now."""
    copies = await forced(state)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    before, copies.there.commits = copies.there.commits, []
    copies.here.put("page1", "mine\n")
    await copies.cycle()
    copies.there.commits = before
    copies.there.put("page1", "edited there\n")
    copies.commit()
    await copies.rest()
    assert copies.here.texts()["page1"] == "mine\n"
    assert waiting(copies)


@pytest.mark.parametrize("is_back_at_once", [False, True])
async def test_so_is_an_edit_that_was_pulled_after_the_commit_was_asked_for(
    state: State, *, is_back_at_once: bool
) -> None:
    """It is in a later commit, which may be taken back before that is asked for."""
    copies = await told(state)
    copies.there.gives_texts = False
    copies.there.put("page1", "first\n")
    copies.commit()

    def take_back() -> None:
        copies.there.commits.pop()
        copies.there.put("page1", "first\n")

    async def edit(entry: str) -> None:
        if entry == "read page1":
            copies.there.put("page1", "second\n")
            copies.commit()
        elif (
            is_back_at_once
            and entry == "head "
            and copies.here.texts()["page1"] == "second\n"
        ):
            copies.there.before = nothing_before
            take_back()

    copies.there.before = edit
    await copies.cycle()
    copies.there.before, copies.there.gives_texts = nothing_before, True
    if not is_back_at_once:
        take_back()
    await copies.rest()
    assert copies.here.texts()["page1"] == "second\n"
    assert waiting(copies)


async def test_so_is_what_was_pushed_in_the_cycle_that_pulled_the_newest_commit(
    state: State,
) -> None:
    """The commit of the push was never told, and was taken back."""
    copies = await told(state)
    copies.there.put("page1", "theirs\n")
    copies.commit()
    copies.here.put("page2", "mine\n")
    await copies.cycle()
    copies.there.put("page2", PAGES["page2"])
    await copies.rest()
    assert copies.here.texts()["page2"] == "mine\n"
    assert waiting(copies)


async def test_that_page_follows_the_wiki_where_a_person_says_so(state: State) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", "edited there\n")
    copies.commit()
    await copies.rest()
    copies.decide(Decision.APPROVED)
    await copies.rest()
    assert copies.texts()["page1"] == "edited there\n"


async def test_a_page_that_the_service_has_otherwise_is_not_held(state: State) -> None:
    """What file our text was there cannot be said."""
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.there.put("page1", "theirs\n")
    copies.there.committed[copies.commit()] = {"page1": "theirs, as git has it\n"}
    await copies.rest()
    assert copies.texts()["page1"] == "theirs\n"
    assert not waiting(copies)


async def test_a_cycle_without_a_change_learns_the_commit(state: State) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = [*before, "ours"]
    copies.asked()
    await copies.cycle()
    await copies.cycle()
    assert copies.asked() == ["head"]
    copies.there.put("page1", PAGES["page1"])
    copies.commit()
    await copies.rest()
    assert copies.texts()["page1"] == PAGES["page1"]


@needs_git
async def test_a_service_whose_git_was_away_is_asked_about_too(tmp_path: Path) -> None:
    """A push by force takes back what was sent while git was refused."""
    async with paired(tmp_path, {"home": "one\n", "other": "text\n"}) as pair:
        await pair.rest()
        cloned = await clone(pair.service.git_url(PAIRED), tmp_path / "cloned")
        pair.service.quirks = {Quirk.NO_GIT}
        pair.save("home", "mine\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        assert (await run_git("push", "-q", "--force", folder=cloned)).code == 0
        assert (await pair.wiki_texts())["home"] == "one\n"
        pair.restart()
        await pair.rest()
        assert pair.texts()["home"] == "mine\n"
        (batch,) = pair.known.batches()
        assert batch.kind is BatchKind.REWOUND


@needs_git
@pytest.mark.parametrize("is_forced", [True, False])
async def test_git_shows_whether_a_later_edit_there_is_on_top_of_our_text(
    tmp_path: Path, *, is_forced: bool
) -> None:
    """A clone from before our push is edited and pushed by force, or one from after."""
    async with paired(tmp_path, {"home": "one\n", "other": "text\n"}) as pair:
        await pair.rest()
        address = pair.service.git_url(PAIRED)
        cloned = await clone(address, tmp_path / "before")
        pair.service.quirks = {Quirk.NO_GIT}
        pair.save("home", "mine\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        if not is_forced:
            cloned = await clone(address, tmp_path / "after")
        (cloned / "home.md").write_text("theirs\n")
        assert (await commit_and_push(cloned, "--force")).code == 0
        pair.restart()
        await pair.rest()
        assert (await pair.wiki_texts())["home"] == "theirs\n"
        assert pair.texts()["home"] == ("mine\n" if is_forced else "theirs\n")
        kinds = [one.kind for one in pair.known.batches()]
        assert kinds == ([BatchKind.REWOUND] if is_forced else [])


@needs_git
async def test_a_page_with_a_picture_that_a_person_deletes_is_not_held(
    tmp_path: Path,
) -> None:
    """Its text is another one in git, where the picture has another name."""
    async with paired(tmp_path, {"home": "one\n", "other": "text\n"}) as pair:
        await pair.rest()
        put(pair, "red.png", RED)
        pair.service.quirks = {Quirk.NO_GIT}
        pair.save("fresh", "![red](red.png)\n")
        await pair.rest()
        pair.save("other", "sent by another sync\n")
        await pair.rest()
        pair.service.quirks = frozenset()
        cloned = await clone(pair.service.git_url(PAIRED), tmp_path / "cloned")
        (cloned / "fresh.md").unlink()
        assert (await commit_and_push(cloned)).code == 0
        pair.restart()
        await pair.rest()
        assert "fresh" not in pair.texts()
        assert not pair.known.batches()


async def test_an_edit_on_top_of_what_was_pushed_untold_is_an_edit(
    state: State,
) -> None:
    copies, before = await pushed_untold(state, "page1", "mine\n")
    copies.there.commits = before
    copies.commit()
    copies.there.put("page1", "theirs\n")
    copies.commit()
    await copies.rest()
    assert copies.texts()["page1"] == "theirs\n"
    assert not waiting(copies)


async def test_without_any_history_a_revert_is_an_edit_as_ever(state: State) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    copies.here.put("page1", "mine\n")
    await copies.rest()
    copies.asked()
    copies.there.put("page1", PAGES["page1"])
    await copies.rest()
    assert copies.texts()["page1"] == PAGES["page1"]
    assert copies.asked() == ["head"]


# -- pages that wait for something else while the wiki goes back ----------------------


def make_wait(copies: Told, kind: str) -> None:
    """The page is open in an editor, or its new name is another page's."""
    if kind == "open":
        copies.here.busy[Slug("page1")] = "page1.md.lock"
    else:
        copies.rename_here("page1", "taken")


async def waited(
    state: State, kind: str, *, newer: str = "newer\n", older: str = PAGES["page1"]
) -> Told:
    """A page waits, and its edit on the wiki is pushed over while another is sent."""
    copies = await told(state)
    copies.there.put("page1", newer)
    copies.commit()
    await copies.rest()
    copies.there.put("page1", older)
    copies.there.put("taken", "another page\n")
    copies.there.commits[-1:] = ["forced"]
    copies.there.committed["forced"] = copies.there.texts()
    make_wait(copies, kind)
    await send_another(copies)
    return copies


async def send_another(copies: Told) -> None:
    """A cycle sends a page, and the wiki has a commit with it at once."""
    copies.here.put("page2", "sent meanwhile\n")

    async def commit_sent(entry: str) -> None:
        if entry == "head " and copies.there.changes[-1:] == ["write page2"]:
            copies.there.log.clear()
            copies.commit()

    copies.there.before = commit_sent
    await copies.cycle()
    await commit_sent("head ")
    assert copies.there.texts()["page2"] == "sent meanwhile\n"


async def let_go(copies: Told) -> None:
    """Nothing keeps the page back any more; time goes by."""
    copies.here.busy.clear()
    if Slug("taken") in copies.there.pages:
        copies.there.remove("taken")
        copies.here.conflicts.clear()
        copies.commit()
    for _ in range(8):
        await copies.cycle()


@pytest.mark.parametrize("open_s", [0.0, 600.0])
async def test_so_is_a_page_that_is_gone_there_and_open_here(
    open_s: float, state: State
) -> None:
    """Closed, it would be removed here."""
    copies = await told(state)
    copies.there.put("fresh", "made today\n")
    copies.commit()
    await copies.rest()
    copies.there.remove("fresh")
    copies.there.commits[-1:] = ["forced"]
    copies.there.committed["forced"] = copies.there.texts()
    copies.here.busy[Slug("fresh")] = "fresh.md.lock"
    copies.here.put("page2", "sent meanwhile\n")
    for _ in range(3):
        await copies.cycle()
    copies.now += open_s
    await copies.cycle()
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["fresh"]
    copies.decide(Decision.REFUSED)
    copies.here.busy.clear()
    await copies.rest()
    assert copies.texts()["fresh"] == "made today\n"


WAITS_FOR = {"open": SkipReason.OPEN_HERE, "renamed": HoldReason.NAME_TAKEN}
WAITS = pytest.mark.parametrize("kind", WAITS_FOR)


@WAITS
async def test_a_page_that_waits_is_part_of_what_is_held(
    kind: str, state: State
) -> None:
    copies = await waited(state, kind)
    (batch,) = waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    assert [member.slug for member in batch.members] == ["page1"]
    plan = (await copies.cycle()).plan
    held = [one.reason for one in plan.held if one.slug == "page1"]
    skipped = [one.reason for one in plan.skipped if one.slug == "page1"]
    assert [*held, *skipped] == [WAITS_FOR[kind]]
    await let_go(copies)
    assert "newer\n" in copies.here.texts().values()
    assert waiting(copies)


async def test_so_is_one_that_was_renamed_on_both_sides_and_is_open_here(
    state: State,
) -> None:
    """Its file has neither the name that is known nor the one that it gets."""
    copies = await told(state)
    copies.there.identities[Slug("page1")] = "1"
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.rename_there("page1", "theirs")
    copies.there.identities[Slug("theirs")] = copies.there.identities.pop(Slug("page1"))
    copies.there.put("theirs", PAGES["page1"])
    copies.there.commits[-1:] = ["forced"]
    copies.there.committed["forced"] = copies.there.texts()
    copies.rename_here("page1", "mine")
    copies.here.busy[Slug("mine")] = "mine.md.lock"
    await send_another(copies)
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["theirs"]
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    await let_go(copies)
    assert copies.texts()["theirs"] == "newer\n"


@WAITS
async def test_refused_its_newer_text_is_put_back_once_it_can_be(
    kind: str, state: State
) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    copies.there.put("page3", "edited meanwhile\n")
    copies.commit()
    await copies.cycle()
    assert copies.here.texts()["page3"] == "edited meanwhile\n"
    await let_go(copies)
    assert not waiting(copies)
    name = "page1" if kind == "open" else "taken"
    assert copies.texts()[name] == "newer\n"


@WAITS
async def test_refused_it_is_merged_with_what_is_edited_on_top_of_its_older_text(
    kind: str, state: State
) -> None:
    """The older text is what both edits began with, while the page still waits."""
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    copies.there.put("page1", f"{PAGES['page1']}\nedited there\n")
    copies.commit()
    await copies.cycle()
    await let_go(copies)
    texts = [*copies.here.texts().values(), *copies.here.conflicts.values()]
    assert any("newer" in text for text in texts)
    assert any("edited there" in text for text in texts)


@WAITS
async def test_refused_it_stays_so_where_other_pages_are_synced_first(
    kind: str, state: State
) -> None:
    """By then the history, and a text that was never seen here, show nothing more."""
    copies = await waited(state, kind, older="from before the first sync\n")
    copies.decide(Decision.REFUSED)
    await copies.cycle(CycleOptions(pages=frozenset({Slug("page3")})))
    await copies.cycle()
    await let_go(copies)
    assert "newer\n" in copies.texts().values()


async def test_refused_its_edit_of_that_moment_is_not_agreed_on(state: State) -> None:
    copies = await waited(state, "open")
    copies.decide(Decision.REFUSED)

    async def edit(entry: str) -> None:
        if entry == "read page1":
            copies.there.put("page1", "edited meanwhile\n")

    copies.there.gives_texts = False
    copies.there.before = edit
    await copies.cycle()
    assert copies.known.text(Slug("page1")) == "newer\n"


async def test_refused_its_front_matter_is_no_edit_where_the_service_strips_it(
    state: State,
) -> None:
    block = "---\ntitle: One\n---\n"
    copies = await waited(state, "open", newer=f"{block}newer\n")
    service = copies.known.capabilities().with_stripped(Format.MARKDOWN)
    copies.known.learn(service)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    assert copies.known.text(Slug("page1")) == f"{block}{PAGES['page1']}"


@WAITS
async def test_refused_the_older_text_can_be_restored(kind: str, state: State) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert PAGES["page1"] in [text for _, text, _ in copies.here.trash]


@WAITS
async def test_one_that_cannot_be_read_then_delays_no_other(
    kind: str, state: State
) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)

    async def refuse(entry: str) -> None:
        if entry == "read page1":
            raise Unavailable("no answer")

    copies.there.gives_texts = False
    copies.there.before = refuse
    copies.here.put("page3", "edited meanwhile\n")
    await copies.cycle()
    assert copies.there.texts()["page3"] == "edited meanwhile\n"
    copies.there.before = nothing_before
    await copies.cycle()
    await let_go(copies)
    assert "newer\n" in copies.texts().values()


async def test_refused_its_older_text_is_agreed_on_under_the_name_that_it_gets(
    state: State,
) -> None:
    """It is renamed on the wiki by the same cycle, while its formats wait."""
    copies = await waited(state, "open")
    copies.decide(Decision.REFUSED)
    copies.here.busy.clear()
    copies.rename_here("page1", "renamed")
    copies.here.put("renamed", "newer\n", Format.ORG)
    copies.there.put("page1", PAGES["page1"], Format.RDOC)
    await copies.cycle()
    assert "page1" not in copies.known.base()
    assert copies.known.text(Slug("renamed")) == PAGES["page1"]


@WAITS
async def test_a_page_that_waits_is_asked_about_until_the_history_is_known(
    kind: str, state: State
) -> None:
    """A commit that the service names later is not noted without a question."""
    copies = await told(state)
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.there.put("page1", PAGES["page1"])
    copies.there.put("taken", "another page\n")
    make_wait(copies, kind)
    copies.here.put("page2", "sent meanwhile\n")
    commits, copies.there.commits = copies.there.commits, []

    async def tell(entry: str) -> None:
        if entry == "write page2":
            commits[-1:] = ["forced"]
            copies.there.commits = commits
            copies.there.committed["forced"] = copies.there.texts()
            copies.commit()

    copies.there.before = tell
    await copies.cycle()
    await copies.cycle()
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["page1"]


@WAITS
async def test_approved_it_follows_the_wiki_once_it_can(
    kind: str, state: State
) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.APPROVED)
    for _ in range(2):
        await copies.cycle()
    assert not copies.known.batches()
    await let_go(copies)
    assert not waiting(copies)
    name = "page1" if kind == "open" else "taken"
    assert copies.texts()[name] == PAGES["page1"]


@WAITS
async def test_a_page_that_waits_and_was_edited_on_the_wiki_is_no_sign(
    kind: str, state: State
) -> None:
    copies = await told(state)
    copies.there.put("page1", "edited there\n")
    copies.there.put("taken", "another page\n")
    copies.commit()
    make_wait(copies, kind)
    for _ in range(3):
        await copies.cycle()
    await let_go(copies)
    assert not copies.known.batches()
    name = "page1" if kind == "open" else "taken"
    assert copies.texts()[name] == "edited there\n"


async def in_conflict(state: State) -> Told:
    """A person took a page back on the wiki and edits it here."""
    copies = await told(state)
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.there.put("page1", PAGES["page1"])
    copies.here.put("page1", "mine\n")
    copies.commit()
    await copies.rest()
    assert "page1" in copies.here.conflicts
    return copies


async def test_a_page_whose_conflict_file_shows_its_earlier_text_is_no_sign(
    state: State,
) -> None:
    """A person is asked about it already."""
    copies = await in_conflict(state)
    copies.here.put("page2", "sent, and in no commit yet\n")
    for _ in range(3):
        await copies.cycle()
    assert copies.there.texts()["page2"] == "sent, and in no commit yet\n"
    assert not copies.known.batches()


async def test_it_stays_in_conflict_while_another_is_taken_back(state: State) -> None:
    copies = await in_conflict(state)
    copies.there.put("page2", "newer, too\n")
    copies.commit()
    await copies.rest()
    copies.there.put("page2", PAGES["page2"])
    copies.there.commits[-1:] = ["forced"]
    copies.there.committed["forced"] = copies.there.texts()
    plan = (await copies.cycle()).plan
    assert [(one.slug, one.reason) for one in plan.held] == [
        ("page1", HoldReason.EDITED_BOTH)
    ]
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["page2"]


async def test_it_is_held_once_nothing_of_it_is_edited_here(state: State) -> None:
    """Nobody is asked by its conflict file any more."""
    copies = await in_conflict(state)
    copies.here.put("page1", "newer\n")
    copies.there.commits[-1:] = ["forced"]
    copies.there.committed["forced"] = copies.there.texts()
    await copies.cycle()
    assert copies.here.texts()["page1"] == "newer\n"
    assert waiting(copies)


async def test_so_is_one_whose_text_was_pushed_untold(state: State) -> None:
    """The history has the commit that is known, and no commit with our text."""
    copies, before = await pushed_untold(state, "page1", "newer\n")
    copies.there.commits = before
    copies.there.put("page1", "edited there\n")
    copies.here.busy[Slug("page1")] = "page1.md.lock"
    copies.commit()
    await copies.cycle()
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["page1"]


async def test_so_is_one_among_pages_that_return_without_any_history(
    state: State,
) -> None:
    copies = await worked(state)
    for slug in list(EDITED)[:3]:
        copies.there.put(slug, PAGES[slug])
    copies.here.busy[Slug("page0")] = "page0.md.lock"
    await copies.cycle()
    (batch,) = waiting(copies)
    assert {member.slug for member in batch.members} == set(list(EDITED)[:3])


async def test_held_pages_are_no_sign_without_any_history(state: State) -> None:
    """They may have waited for long, each for its own reason."""
    copies = await worked(state)
    for slug in list(EDITED)[:3]:
        copies.there.put(slug, PAGES[slug])
        copies.there.put(f"{slug}-taken", "another page\n")
        copies.rename_here(slug, f"{slug}-taken")
    plan = (await copies.cycle()).plan
    assert {hold.slug for hold in plan.held} >= set(list(EDITED)[:3])
    assert not copies.known.batches()


async def test_so_is_one_whose_earlier_name_another_file_has(state: State) -> None:
    text = PAGES["page8"] + "more\n"
    copies = await rename_taken_back(state, text, in_the_way="another\n")
    (batch,) = waiting(copies)
    assert [member.slug for member in batch.members] == ["page8"]
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    copies.here.remove("page8")
    for _ in range(8):
        await copies.cycle()
    assert not waiting(copies)
    assert text in copies.texts().values()


async def test_a_conflict_with_an_older_text_is_not_merged_while_others_wait(
    state: State,
) -> None:
    """What else was taken back in the page would go here with the merge."""
    copies = await told(state)
    start = "# a\n\none\n\n# b\n\ntwo\n"
    newest = "# a\n\none more\n\n# b\n\ntwo\n\n# c\n\nnew work\n"
    before = {**PAGES, "page8": start}
    for texts in (before, {**EDITED, "page8": newest}):
        for slug, text in texts.items():
            copies.there.put(slug, text)
        copies.commit()
        await copies.rest()
    for slug in (*EDITED, "page8"):
        copies.there.put(slug, before[slug])
    copies.here.put("page8", newest.replace("one more", "one of mine"))
    commits, copies.there.commits = copies.there.commits, []
    await copies.cycle()
    assert waiting(copies)
    assert list(copies.here.conflicts) == ["page8"]
    copies.there.commits = [*commits[:-1], "forced"]
    copies.there.committed["forced"] = copies.there.texts()
    copies.here.put("page8", newest.replace("one more", "one"))
    for _ in range(3):
        await copies.cycle()
    assert "new work" in copies.here.texts()["page8"]
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert "new work" in copies.texts()["page8"]
    assert copies.texts()["page0"] == EDITED["page0"]


# -- what it costs ---------------------------------------------------------------------


async def test_a_sync_with_nothing_to_do_asks_nothing(state: State) -> None:
    copies = await told(state)
    copies.asked()
    await copies.cycle()
    assert copies.asked() == []


async def test_the_first_sync_asks_once_also_where_nothing_is_told(
    state: State,
) -> None:
    copies = Told(state, PAGES)
    await copies.rest()
    assert copies.asked() == ["head"]
    await copies.cycle()
    assert copies.asked() == []


async def test_a_sync_that_pulls_asks_twice(state: State) -> None:
    copies = await told(state)
    copies.asked()
    copies.commit()
    copies.there.put("page1", "edited\n")
    await copies.cycle()
    assert copies.asked() == ["head", "follows"]


async def test_a_sync_that_pushes_asks_once(state: State) -> None:
    copies = await told(state)
    copies.asked()
    copies.here.put("page1", "edited\n")
    await copies.cycle()
    assert copies.asked() == ["head"]
