"""The decision of one cycle: from two scans to the plan carried out.

``reconcile`` decides; what may stop or change its plan afterwards are ``filters``.
"""

import re
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from functools import cache

from msgspec.structs import replace

from wikisync.core import model
from wikisync.errors import FolderError, NotFound
from wikisync.merging.metadata import front_matter_of, with_front_matter
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import Base, BasePage, Plan
from wikisync.sync.decide.reconcile import changed_pages, reconcile
from wikisync.sync.run.filters import FILTERS, NOTING
from wikisync.sync.run.merging import names_taken
from wikisync.sync.run.parts import Absences, Cycle, Decided, FolderMatch
from wikisync.sync.run.removals import is_certain, seen_again, watch_absences

WINDOW_CHARS = 8
COMPARED_CHARS = 100_000
TELLING_CHARS_MIN = 12
"""A text with fewer letters and digits does not tell whether it is a copy."""


async def decide_cycle(
    cycle: Cycle,
    here: model.Snapshot,
    there: model.Snapshot,
    *,
    settled: Set[model.Slug] = frozenset(),
) -> Decided:
    """Decide one cycle: from two scans to a plan."""
    state, options = cycle.state, cycle.options
    base, ignored = state.base(), frozenset[model.Slug]()
    if missing := (base.keys() | there.pages.keys()) - here.pages.keys():
        # the absence of some means nothing
        formats = {slug: page.format for slug, page in base.items()}
        formats |= {slug: page.format for slug, page in there.pages.items()}
        asked = ((slug, formats[slug]) for slug in missing)
        ignored = await cycle.local.untracked(asked)
        here = replace(here, unreadable=here.unreadable | ignored)
    if not here.is_partial:
        there = _without_renames_under_way(cycle, there)
    here, there = await met_again(cycle, state.base(), here, there)
    if options.folder.is_new:
        is_other = options.folder is FolderMatch.OTHER
        anew = met_anew(state.base(), here, there, is_other_folder=is_other)
        # what either side has of them is a new page
        state.record(dropped=anew)
    if here.elsewhere:
        here = _with_elsewhere(state, here, there)
    if here.likely_copies:
        here = await _with_likely_copies(cycle, here, there)
    # What ``base`` knows from here on is what both sides held under the names of
    # now; pages that were forgotten above are new pages to everything below.
    base = state.base()
    changed = changed_pages(base, here, there)
    service = state.memory.capabilities
    if service.strips_front_matter_of:
        state.remember(capabilities=service.without_shown(there))
    # of all pages, and rarely asked for
    by_identity = cache(
        lambda: {page.identity: slug for slug, page in here.pages.items()}
    )
    refreshed = {
        slug: now
        for slug, page in changed.items()
        if (now := _refreshed(cycle, page, here, there, by_identity)) is not page
    }
    if refreshed:
        state.refresh(refreshed.values())
        base = {**base, **refreshed}
        changed = changed_pages({slug: base[slug] for slug in changed}, here, there)
    if is_at_rest(base, here, there, changed):
        # most cycles; the table would go through every page to find nothing
        plan, absences = Plan(), Absences({})
        if here.copies or any(state.memory.sightings.values()):
            absences = await watch_absences(cycle, plan, here, there)
    else:
        doubted = changed.keys() - settled
        taken = await names_taken(cycle, base, doubted, here, there)
        plan = reconcile(base, here, there, taken, changed)
        absences = await watch_absences(cycle, plan, here, there)
        if absences.doubted is not None:
            there = _doubted(there, absences.doubted)
            plan = reconcile(base, here, there, taken, changed)
    decided = Decided(base, here, there, plan, absences, ignored)
    for change in FILTERS:
        # of a plan without actions some have something to note
        if decided.plan.actions or change in NOTING:
            await change(cycle, decided)
    return decided


# -- what counts as an edit --------------------------------------------------


def _refreshed(
    cycle: Cycle,
    page: BasePage,
    here: model.Snapshot,
    there: model.Snapshot,
    known: Callable[[], Mapping[str, model.Slug]],
) -> BasePage:
    """A page with what is no edit of it, nor another page under its name."""
    # differences of line ends and final newlines are none: an editor or the service
    # made them (``docs/sync.md`` "Echo")
    mine, theirs = here.pages.get(page.slug), there.pages.get(page.slug)
    if mine is not None:
        if mine.digest != page.local and _is_folded(cycle, mine):
            page = replace(page, local=mine.digest)
        if (
            mine.identity not in {"", page.local_identity}
            and known().get(page.local_identity, page.slug) == page.slug
        ):
            page = replace(page, local_identity=mine.identity)
    if theirs is not None:
        if theirs.digest != page.remote and (
            _is_folded(cycle, theirs) or _is_stripped(cycle, theirs, there)
        ):
            page = replace(page, remote=theirs.digest)
        if theirs.identity not in {"", page.remote_identity} and (
            theirs.digest == page.remote or not page.remote_identity
        ):
            page = replace(page, remote_identity=theirs.identity)
    return page


def _is_folded(cycle: Cycle, seen: model.PageState) -> bool:
    """Whether a text differs from the agreed one by line ends alone."""
    text = cycle.state.text(seen.slug)
    if text is None:
        return False
    return (seen.folded or seen.digest) == model.digest_of(model.fold_text(text))


def _is_stripped(cycle: Cycle, seen: model.PageState, there: model.Snapshot) -> bool:
    """Whether a text differs from the agreed one by front matter alone."""
    page = there.texts.get(seen.slug)
    formats = cycle.state.memory.capabilities.strips_front_matter_of
    text = cycle.state.text(seen.slug)
    if page is None or text is None or page.format not in formats:
        return False
    return bool(front_matter_of(text)) and (
        model.fold_text(with_front_matter(page.content, text)) == model.fold_text(text)
    )


# -- who has a say -----------------------------------------------------------


def _without_renames_under_way(cycle: Cycle, there: model.Snapshot) -> model.Snapshot:
    """The wiki without pages that somebody is renaming to a look-alike name."""
    # Between two writes such a page has a temporary name, which no person gave it; it
    # and those below it are decided on once they have their new names.  One that keeps
    # the name, because nobody finishes the rename, is renamed here, too.
    base, now = cycle.state.base(), cycle.clock()
    patience = cycle.options.patience
    missing = base.keys() - there.pages.keys()
    new, before = there.pages.keys() - base.keys(), cycle.state.sightings(Side.RENAME)
    if not (new or before):
        return there
    found = model.renames_under_way(missing, new)
    seen = seen_again(before, found.keys(), now)
    cycle.state.record_sightings(Side.RENAME, seen)
    found = {
        slug: name
        for slug, name in found.items()
        if not is_certain(seen[slug], patience.remote_scans, patience.remote_span_s)
    }
    if not found:
        return there
    names = tuple(f"{name}/" for name in found.values())
    slugs = tuple(f"{slug}/" for slug in found)
    pages = {
        name: page
        for name, page in there.pages.items()
        if name not in found.values() and not name.startswith(names)
    }
    waiting = {slug for slug in missing if slug in found or slug.startswith(slugs)}
    return replace(there, pages=pages, unreadable=there.unreadable | waiting)


async def _with_likely_copies(
    cycle: Cycle, here: model.Snapshot, there: model.Snapshot
) -> model.Snapshot:
    """The scan with the copies of pages that are here and like them, or missing."""
    # A file that is the original's own was renamed by a person.  What was left out
    # stays so when the original is deleted.
    base = cycle.state.base()
    asked = here.likely_copies.keys() - base.keys() - there.pages.keys()
    left_out = cycle.state.sightings(Side.UNREAD) if asked else {}
    copies: dict[model.Slug, model.Problem] = {}
    for slug in asked:
        for original, copy in here.likely_copies[slug].items():
            if original not in here.pages and slug in left_out:
                copies[slug] = copy
            elif slug not in here.pages or (
                original not in here.pages
                and (
                    original not in base
                    or _is_same_file(here.pages[slug], base[original])
                )
            ):
                continue
            elif are_alike(await _text(cycle, slug), await _text(cycle, original)):
                copies[slug] = copy
    return replace(here, copies={**copies, **here.copies}) if copies else here


async def _text(cycle: Cycle, slug: model.Slug) -> str:
    """A page's text here; the agreed one where it is not here."""
    page = await cycle.page_here(slug)
    return page.content if page else cycle.state.text(slug) or ""


def _with_elsewhere(
    known: WikiState, here: model.Snapshot, there: model.Snapshot
) -> model.Snapshot:
    """The scan with what is said of stubs of what the wiki has or links to."""
    # a folder of a cloud drive has stubs, and links to online documents, of which the
    # wiki knows nothing
    ours = {*known.base(), *there.pages, *known.linked_paths(), *known.attachments()}
    ours = {model.in_form_c(path) for path in ours}
    ours |= {folder for path in tuple(ours) for folder in model.folders_above(path)}
    others = {path for path in here.elsewhere if model.in_form_c(path) not in ours}
    return replace(
        here,
        problems=(
            *here.problems,
            *(p for path, p in here.elsewhere.items() if path not in others),
        ),
        unreadable=here.unreadable - others,
    )


def _is_same_file(page: model.PageState, agreed: BasePage) -> bool:
    """Whether a page's file is that of another page, by its text if nothing else."""
    if page.identity and agreed.local_identity:
        return page.identity == agreed.local_identity
    return page.digest == agreed.local


def _doubted(there: model.Snapshot, slug: model.Slug) -> model.Snapshot:
    problem = model.Problem(
        "absence-doubted",
        slug,
        "the wiki does not list it but still returns it; nothing is removed here",
        "run it again later; if it persists, check the service",
    )
    return replace(there, is_complete=False, problems=(*there.problems, problem))


async def met_again(
    cycle: Cycle, base: Base, here: model.Snapshot, there: model.Snapshot
) -> tuple[model.Snapshot, model.Snapshot]:
    """The scans with pages as one that are the same, and whose record was lost."""
    # a record knew which file is which page where the service writes its name
    # otherwise, and which upload a link to a file is
    names = given_names(base, here, there)
    for file, name in names.items():
        cycle.state.record_alias(file, name)
    if names:
        pages = {names.get(slug, slug): page for slug, page in here.pages.items()}
        pages |= {name: replace(pages[name], slug=name) for name in names.values()}
        busy = {names.get(slug, slug): lock for slug, lock in here.busy.items()}
        here = replace(here, pages=pages, busy=busy)
    new = (here.pages.keys() & there.pages.keys()) - base.keys()
    found: dict[model.Slug, model.Page] = {}
    for slug in sorted(new - here.unreadable - there.unreadable):
        theirs = there.pages[slug]
        if cycle.linked is None or here.pages[slug].has_same_text(theirs):
            continue
        text = there.texts.get(slug)
        if text is not None and "uploads/" not in text.content:
            continue  # no file of here has a link in it
        with suppress(NotFound, FolderError):
            page = await cycle.local.read(slug)
            same = await cycle.linked.recognised(page, slug)
            if same is not None:
                found[slug] = same
    if found:
        ids = {slug: there.pages[slug].identity for slug in found}
        states = {slug: page.state(ids[slug]) for slug, page in found.items()}
        pages, texts = {**there.pages, **states}, {**there.texts, **found}
        there = replace(there, pages=pages, texts=texts)
    return here, there


# -- what the scans alone say


def is_saved_enough(base: Base, here: model.Snapshot, there: model.Snapshot) -> bool:
    """Whether a scan of nothing but saved files is enough for a decision.

    Both sides have the pages of the base, and the wiki no other texts than were agreed
    on, or nobody scanned it: then the only news are texts here of known pages.
    """
    if not (here.is_complete and there.is_complete):
        return False
    names = there.pages.keys()
    if there.unreadable or not base.keys() <= names:
        return False
    if not there.is_remembered and _has_news(base, there):
        return False
    return names == here.pages.keys() | (here.unreadable - here.ignored)


def has_texts_to_send(base: Base, here: model.Snapshot) -> bool:
    """Whether the folder has a text that was not agreed on."""
    return any(
        (known := base.get(slug)) is None or page.digest != known.local
        for slug, page in here.pages.items()
    )


def _has_news(base: Base, there: model.Snapshot) -> bool:
    """Whether the wiki has a page otherwise than was agreed, or an identity of one."""
    theirs = there.pages
    return any(
        (remote := theirs[slug]).digest != page.remote
        or remote.format is not page.format
        or (remote.identity and remote.identity != page.remote_identity)
        for slug, page in base.items()
    )


def met_anew(
    base: Base, here: model.Snapshot, there: model.Snapshot, *, is_other_folder: bool
) -> frozenset[model.Slug]:
    """Pages to be met as new ones where both sides are taken as they are."""
    # what one of them lacks was not deleted; and in another folder what differs from
    # what was agreed on is no edit of it
    seen_here = here.pages.keys() | here.unreadable
    seen_there = there.pages.keys() | there.unreadable
    missing = base.keys() - (seen_here & seen_there)
    if not is_other_folder:
        return frozenset(missing)
    pages = here.pages
    changed = {
        s for s, one in base.items() if s in pages and pages[s].digest != one.local
    }
    return frozenset(missing | changed)


def given_names(
    base: Base, here: model.Snapshot, there: model.Snapshot
) -> Mapping[model.Slug, model.Slug]:
    """New files of which the service has a page by the name that it makes of theirs."""
    # not where that page has a file, or two files would be it
    taken = base.keys() | here.pages.keys() | here.unreadable
    given: dict[model.Slug, list[model.Slug]] = {}
    for slug in here.pages.keys() - there.pages.keys() - base.keys():
        name = model.Slug(model.path_of_title(slug))
        if name in there.pages and name not in taken:
            given.setdefault(name, []).append(slug)
    return {files[0]: name for name, files in given.items() if len(files) == 1}


def is_at_rest(
    base: Base, here: model.Snapshot, there: model.Snapshot, changed: Base
) -> bool:
    """Whether both sides hold the very pages, texts and names of the base."""
    if changed or here.unreadable or there.unreadable:
        return False
    return base.keys() == here.pages.keys() == there.pages.keys()


def are_alike(text: str, other: str) -> bool:
    """Whether one text may be a copy of the other that was changed since."""
    # they are where half of the shorter one is in the other, or one is too short to
    # tell
    letters = [
        re.sub(r"\W+", " ", one[:COMPARED_CHARS]).strip() for one in (text, other)
    ]
    if not all(letters):
        return False
    if min(map(len, letters)) < TELLING_CHARS_MIN:
        return True
    pieces, others = (
        {one[at : at + WINDOW_CHARS] for at in range(len(one) - WINDOW_CHARS + 1)}
        for one in letters
    )
    return 2 * len(pieces & others) >= min(len(pieces), len(others))
