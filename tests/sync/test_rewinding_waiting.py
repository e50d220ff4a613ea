"""Pages that wait for something else while a wiki goes back in time."""

import pytest

from tests.support import history
from tests.support.memory import nothing_before
from wikisync.core.model import Format, Slug
from wikisync.errors import Unavailable
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Capabilities
from wikisync.sync.decide.plan import HoldReason, SkipReason
from wikisync.sync.decide.safety import BatchKind, Decision


@pytest.fixture
async def copies(state: State) -> history.Told:
    return await history.told(state)


def make_wait(copies: history.Told, kind: str) -> None:
    """The page is open in an editor, or its new name is another page's."""
    if kind == "open":
        copies.here.busy[Slug("page1")] = "page1.md.lock"
    else:
        copies.rename_here("page1", "taken")


async def waited(
    state: State,
    kind: str,
    *,
    newer: str = "newer\n",
    older: str = history.PAGES["page1"],
) -> history.Told:
    """A page waits, and its edit on the wiki is pushed over while another is sent."""
    copies = await history.told(state)
    copies.there.put("page1", newer)
    copies.commit()
    await copies.rest()
    copies.there.put("page1", older)
    copies.there.put("taken", "another page\n")
    copies.push_over()
    make_wait(copies, kind)
    await send_another(copies)
    return copies


async def send_another(copies: history.Told) -> None:
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


async def let_go(copies: history.Told) -> None:
    """Nothing keeps the page back any more; time goes by."""
    copies.here.busy.clear()
    if Slug("taken") in copies.there.pages:
        copies.there.remove("taken")
        copies.here.conflicts.clear()
        copies.commit()
    await copies.cycles(8)


@pytest.mark.parametrize("open_s", [0.0, 600.0])
async def test_so_is_a_page_that_is_gone_there_and_open_here(
    open_s: float, copies: history.Told
) -> None:
    """Closed, it would be removed here."""
    copies.there.put("fresh", "made today\n")
    copies.commit()
    await copies.rest()
    copies.there.remove("fresh")
    copies.push_over()
    copies.here.busy[Slug("fresh")] = "fresh.md.lock"
    copies.here.put("page2", "sent meanwhile\n")
    await copies.cycles(3)
    copies.now += open_s
    await copies.cycle()
    assert history.asked_about(copies) == ["fresh"]
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
    (batch,) = history.waiting(copies)
    assert batch.kind is BatchKind.REWOUND
    assert [member.slug for member in batch.members] == ["page1"]
    plan = (await copies.cycle()).plan
    held = [one.reason for one in plan.held if one.slug == "page1"]
    skipped = [one.reason for one in plan.skipped if one.slug == "page1"]
    assert [*held, *skipped] == [WAITS_FOR[kind]]
    await let_go(copies)
    assert "newer\n" in copies.here.texts().values()
    assert history.waiting(copies)


async def test_so_is_one_that_was_renamed_on_both_sides_and_is_open_here(
    copies: history.Told,
) -> None:
    """Its file has neither the name that is known nor the one that it gets."""
    copies.there.identities[Slug("page1")] = "1"
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.rename_there("page1", "theirs")
    copies.there.identities[Slug("theirs")] = copies.there.identities.pop(Slug("page1"))
    copies.there.put("theirs", history.PAGES["page1"])
    copies.push_over()
    copies.rename_here("page1", "mine")
    copies.here.busy[Slug("mine")] = "mine.md.lock"
    await send_another(copies)
    assert history.asked_about(copies) == ["theirs"]
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
    assert not history.waiting(copies)
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
    copies.there.put("page1", f"{history.PAGES['page1']}\nedited there\n")
    copies.commit()
    await copies.cycle()
    await let_go(copies)
    texts = [*copies.here.texts().values(), *copies.here.conflicts.values()]
    assert any("newer" in text for text in texts)
    assert any("edited there" in text for text in texts)


async def test_refused_its_edit_of_that_moment_is_not_agreed_on(state: State) -> None:
    copies = await waited(state, "open")
    copies.decide(Decision.REFUSED)
    copies.there.gives_texts = False
    edited = "edited meanwhile\n"
    copies.there.before_once("read page1", lambda: copies.there.put("page1", edited))
    await copies.cycle()
    assert copies.known.text(Slug("page1")) == "newer\n"


async def test_refused_its_front_matter_is_no_edit_where_the_service_strips_it(
    state: State,
) -> None:
    block = "---\ntitle: One\n---\n"
    copies = await waited(state, "open", newer=f"{block}newer\n")
    service = Capabilities(strips_front_matter_of=frozenset({Format.MARKDOWN}))
    copies.known.remember(capabilities=service)
    copies.decide(Decision.REFUSED)
    await copies.cycle()
    assert copies.known.text(Slug("page1")) == f"{block}{history.PAGES['page1']}"


@WAITS
async def test_refused_the_older_text_can_be_restored(kind: str, state: State) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert history.PAGES["page1"] in [text for _, text, _ in copies.here.trash]


@WAITS
async def test_one_that_cannot_be_read_then_delays_no_other(
    kind: str, state: State
) -> None:
    copies = await waited(state, kind)
    copies.decide(Decision.REFUSED)
    copies.there.gives_texts = False
    copies.there.fail("read page1", Unavailable("no answer"))
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
    copies.there.put("page1", history.PAGES["page1"], Format.RDOC)
    await copies.cycle()
    assert "page1" not in copies.known.base()
    assert copies.known.text(Slug("renamed")) == history.PAGES["page1"]


@WAITS
async def test_a_page_that_waits_is_asked_about_until_the_history_is_known(
    kind: str, copies: history.Told
) -> None:
    """A commit that the service names later is not noted without a question."""
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.there.put("page1", history.PAGES["page1"])
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
    assert history.asked_about(copies) == ["page1"]


async def in_conflict(state: State) -> history.Told:
    """A person took a page back on the wiki and edits it here."""
    copies = await history.told(state)
    copies.there.put("page1", "newer\n")
    copies.commit()
    await copies.rest()
    copies.there.put("page1", history.PAGES["page1"])
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
    await copies.cycles(3)
    assert copies.there.texts()["page2"] == "sent, and in no commit yet\n"
    assert not copies.known.memory.batches


async def test_it_is_held_once_nothing_of_it_is_edited_here(state: State) -> None:
    """Nobody is asked by its conflict file any more."""
    copies = await in_conflict(state)
    copies.here.put("page1", "newer\n")
    copies.push_over()
    await copies.cycle()
    assert copies.here.texts()["page1"] == "newer\n"
    assert history.waiting(copies)


async def test_so_is_one_among_pages_that_return_without_any_history(
    state: State,
) -> None:
    copies = await history.worked(state)
    for slug in list(history.EDITED)[:3]:
        copies.there.put(slug, history.PAGES[slug])
    copies.here.busy[Slug("page0")] = "page0.md.lock"
    await copies.cycle()
    (batch,) = history.waiting(copies)
    assert {member.slug for member in batch.members} == set(list(history.EDITED)[:3])


async def test_held_pages_are_no_sign_without_any_history(state: State) -> None:
    """They may have waited for long, each for its own reason."""
    copies = await history.worked(state)
    for slug in list(history.EDITED)[:3]:
        copies.there.put(slug, history.PAGES[slug])
        copies.there.put(f"{slug}-taken", "another page\n")
        copies.rename_here(slug, f"{slug}-taken")
    plan = (await copies.cycle()).plan
    assert {hold.slug for hold in plan.held} >= set(list(history.EDITED)[:3])
    assert not copies.known.memory.batches


async def test_a_conflict_with_an_older_text_is_not_merged_while_others_wait(
    copies: history.Told,
) -> None:
    """What else was taken back in the page would go here with the merge."""
    start = "# a\n\none\n\n# b\n\ntwo\n"
    newest = "# a\n\none more\n\n# b\n\ntwo\n\n# c\n\nnew work\n"
    before = {**history.PAGES, "page8": start}
    for texts in (before, {**history.EDITED, "page8": newest}):
        for slug, text in texts.items():
            copies.there.put(slug, text)
        copies.commit()
        await copies.rest()
    copies.there.put("page8", start)
    copies.here.put("page8", newest.replace("one more", "one of mine"))
    commits, copies.there.commits = copies.there.commits, []
    await copies.cycle()
    assert list(copies.here.conflicts) == ["page8"]
    for slug in history.EDITED:
        copies.there.put(slug, before[slug])
    await copies.cycle()
    assert history.waiting(copies)
    copies.there.commits = [*commits[:-1], "forced"]
    copies.there.committed["forced"] = copies.there.texts()
    copies.here.put("page8", newest.replace("one more", "one"))
    await copies.cycles(3)
    assert "new work" in copies.here.texts()["page8"]
    copies.decide(Decision.REFUSED)
    await copies.rest()
    assert "new work" in copies.texts()["page8"]
    assert copies.texts()["page0"] == history.EDITED["page0"]
