"""The decision of one cycle: from two scans to the plan carried out.

``reconcile`` decides; what may stop or change its plan afterwards are ``filters``.
"""

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from functools import cache

from msgspec.structs import replace

from wikisync.core import model
from wikisync.errors import FolderError, NotFound
from wikisync.merging.metadata import front_matter_of, with_front_matter
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.decided import (
    Absences,
    Decided,
    are_alike,
    changed_pages,
    given_names,
    is_at_rest,
    met_anew,
)
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import Base, BasePage, Plan
from wikisync.sync.decide.reconcile import reconcile
from wikisync.sync.run.filters import FILTERS, NOTING
from wikisync.sync.run.merging import names_taken
from wikisync.sync.run.parts import Cycle, FolderMatch
from wikisync.sync.run.removals import is_certain, seen_again, watch_absences


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
