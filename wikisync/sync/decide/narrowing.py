"""What of a plan may be carried out: asked for, not open, not in vain.  Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from enum import Enum, auto
from types import UnionType

from wikisync.core.model import Digest, Slug, folders_above, is_named
from wikisync.sync.decide.plan import (
    Action,
    Adopt,
    CreateRemote,
    Delete,
    DeleteLocal,
    DeleteRemote,
    Hold,
    HoldReason,
    LocalWrite,
    Merge,
    Move,
    MoveLocal,
    MoveRemote,
    Plan,
    Pull,
    Push,
    RemoteWrite,
    Send,
    Skip,
    SkipReason,
)


class Direction(Enum):
    """Which side one cycle may write."""

    BOTH = auto()
    PULL = auto()
    PUSH = auto()


def in_direction(plan: Plan, direction: Direction) -> Plan:
    """The part of a plan that writes no other side than asked for."""
    # what would follow a rename that is left out is left out with it: the renames that
    # hang together with it, and what is done to the pages under their new names
    if direction is Direction.BOTH:
        return plan
    unwanted = LocalWrite if direction is Direction.PUSH else RemoteWrite
    left = _with_others(plan.moves, lambda move: isinstance(move, unwanted))
    # Under a name that a rename left out was to give, there is no page, or another one:
    # an action that names it was made for the page that does not get there now.
    lost = {new for move in left for _, new in move.renamed}
    return plan.map(
        lambda a: (
            None if isinstance(a, unwanted) or a in left or _name_of(a) in lost else a
        )
    )


def only_pages(plan: Plan, pages: Collection[Slug] | None) -> Plan:
    """The part of a plan that is about these pages, under their old or new names."""
    # A rename on the wiki takes the pages below along, whoever asked for it.  So a page
    # that is renamed with others goes with the renames of them all, or one side alone
    # would know their new names; their texts wait until they are asked for.
    if pages is None:
        return plan
    # A group is taken whole or not at all, so ``wanted`` may grow while groups are gone
    # through: no name is in two groups.
    wanted, moves = set[str](pages), set[Move]()
    for group in _together(plan.moves):
        names = {
            name
            for move in group
            for pair in move.renamed
            if any(is_named(one, wanted) for one in pair)
            for name in pair
        }
        if names:
            wanted |= names
            moves.update(group)
    return plan.map(
        lambda a: (
            a
            if (a in moves if isinstance(a, Move) else is_named(a.slug, wanted))
            else None
        )
    )


def _with_others(
    moves: Sequence[Move],
    is_one: Callable[[Move], bool],
    carried: Mapping[Slug, Slug] | None = None,
) -> Set[Move]:
    """Such renames, with all that hang together with one of them."""
    groups = _together(moves, carried)
    return {move for group in groups if any(map(is_one, group)) for move in group}


def _together(
    moves: Sequence[Move], carried: Mapping[Slug, Slug] | None = None
) -> Iterable[Sequence[Move]]:
    """Renames in groups, of each of which all are carried out or none."""
    # two hang together that share a name: a page's on the wiki and those below it,
    # which go along; and where one goes below a name that another gives up, for it
    # would go along, too
    given_up = {move.slug for move in moves if isinstance(move, MoveRemote)}
    # A forest: each name leads to another one of its group, at last to the group's own
    # name.  Only such last names are ever given a leader, so no chain is a circle.
    leader: dict[Slug, Slug] = {}

    def leader_of(name: Slug) -> Slug:
        while (above := leader.get(name, name)) != name:
            name = above
        return name

    for move in moves:
        names = {name for pair in move.renamed for name in pair}
        names |= given_up.intersection(folders_above(move.target))
        if carried and move.target in carried:
            names.add(carried[move.target])
        for name in names:
            leader[leader_of(name)] = leader_of(move.target)
    groups: dict[Slug, list[Move]] = {}
    for move in moves:
        groups.setdefault(leader_of(move.target), []).append(move)
    return groups.values()


def around_editors(
    plan: Plan, busy: Collection[Slug], long: Collection[Slug] = ()
) -> Plan:
    """Leave alone what is open in an editor, whose next save would undo our write."""
    # a page whose file is to be renamed keeps back the renames that hang together with
    # its own, such as that of the page above it, and what would follow them
    if not busy:
        return plan
    kept = _kept_back(plan.moves, busy)
    # both names of each: under the old one the page is now, under the new one other
    # actions expect it
    names = {name for move in kept for pair in move.renamed for name in pair}

    def wait(action: Action) -> Action | None:
        is_ours = isinstance(
            action, Pull | Merge | MoveLocal | DeleteLocal | DeleteRemote
        )
        if is_ours and action.slug in busy:
            if action.slug in long:
                return Hold(action.slug, HoldReason.OPEN_LONG)
            return Skip(action.slug, SkipReason.OPEN_HERE)
        if isinstance(action, Hold | Skip):
            return action  # writes nothing, so nothing about it is too early
        if action in kept:
            return Skip(action.slug, SkipReason.OPEN_WITH_IT)
        return None if action.slug in names else action

    return plan.map(wait)


def _kept_back(moves: Sequence[Move], busy: Collection[Slug]) -> Set[Move]:
    """Renames that wait because a file that is open would be renamed with them."""
    here = {move.slug: move for move in moves if isinstance(move, MoveLocal)}
    if here.keys().isdisjoint(busy):
        return frozenset()
    # On the wiki these pages went along with the one above them.  Here each file is
    # renamed by itself, so nothing but this table shows that they hang together.
    carried = {
        move.target: above.target
        for move in here.values()
        for folder in folders_above(move.slug)
        if (above := here.get(folder))
        and move.target == above.target + move.slug[len(folder) :]
    }
    return _with_others(
        moves, lambda move: isinstance(move, MoveLocal) and move.slug in busy, carried
    )


def without_creates(plan: Plan, slugs: Collection[Slug]) -> Plan:
    """The same plan, without these pages put on the wiki, where they never were."""
    return plan.map(
        lambda a: Skip(a.slug, SkipReason.NOT_ASKED) if _is_new(a, slugs) else a
    )


def _is_new(action: Action, slugs: Collection[Slug]) -> bool:
    """Whether it puts one of these pages on the wiki that never was there."""
    is_first = isinstance(action, CreateRemote) and action.notice is None
    return is_first and action.slug in slugs


def without_copies(plan: Plan, copies: Collection[Slug]) -> Plan:
    """The same plan, without these pages put on the wiki, where they never were."""
    # where a page's own file has got such a name, the page stays as it is on the wiki,
    # and so do those whose renames hang together with that
    if not copies:
        return plan
    left = _with_others(
        plan.moves, lambda move: isinstance(move, MoveRemote) and move.target in copies
    )
    lost = {new for move in left for _, new in move.renamed}

    def leave(action: Action) -> Action | None:
        if isinstance(action, Move):
            return Skip(action.target, SkipReason.COPY) if action in left else action
        if _is_new(action, copies):
            return Skip(action.slug, SkipReason.COPY)
        return None if action.slug in lost else action

    return plan.map(leave)


def without_futile(
    plan: Plan, refused: Mapping[Slug, Digest], looping: Set[tuple[Slug, Digest]]
) -> Plan:
    """Hold what the service refused as it is, and what it would get over and over."""

    def hold(action: Action) -> Action:
        if isinstance(action, DeleteRemote):
            is_refused = refused.get(action.slug) == action.remote
            return Hold(action.slug, HoldReason.REFUSED) if is_refused else action
        if not isinstance(action, Send):
            return action
        if refused.get(action.slug) == action.local:
            return Hold(action.slug, HoldReason.REFUSED)
        if (action.slug, action.local) in looping:
            return Hold(action.slug, HoldReason.LOOP)
        return action

    return plan.map(hold)


def holding(
    plan: Plan, reasons: Mapping[Slug, HoldReason], instead_of: UnionType = Send
) -> Plan:
    """Hold these pages instead of sending their texts, or of other actions."""
    holds = {slug: Hold(slug, reason) for slug, reason in reasons.items()}
    return plan.instead(instead_of, holds) if holds else plan


def without_twins(
    plan: Plan, there: Collection[Slug], here: Collection[Slug] = ()
) -> Plan:
    """Hold pages that get back a text or a name that another one has by now.

    With them waits what took the name of their record here.
    """
    if not any(isinstance(one, MoveRemote | CreateRemote) for one in plan.actions):
        return plan
    # names that nothing has any more once this plan is carried out
    leaving = {one.slug for one in plan.removals if isinstance(one, DeleteRemote)}
    moves = [one for one in plan.moves if isinstance(one, MoveRemote)]
    leaving = leaving.union(*((one.slug, *one.carried) for one in moves))
    taken = {slug.casefold() for slug in there if slug not in leaving}
    lost = [one for one in moves if one.target.casefold() in taken]
    unnamed = {name for one in lost for name in (one.slug, one.target)}

    def hold(action: Action) -> Action | None:
        match action:
            case MoveRemote(slug, target) if action in lost:
                return Hold(slug, HoldReason.CASE_TWIN, target)
            case CreateRemote(slug, notice=notice) if notice is not None:
                is_twin = slug not in there and slug.casefold() in taken
                return Hold(slug, HoldReason.CASE_TWIN) if is_twin else action
            case Push(slug) if slug in unnamed:
                return None  # the text waits with the name under which its file is
            case _:
                return action

    namesakes = {one.record for one in lost}.intersection(here) - unnamed
    more = [Hold(slug, HoldReason.NAME_TAKEN) for slug in sorted(namesakes)]
    return Plan.from_actions([*plan.map(hold).actions, *more])


def without_removals(plan: Plan, waiting: Mapping[Slug, SkipReason]) -> Plan:
    """Put off the removals of these pages, each for its reason."""
    skips = {slug: Skip(slug, reason) for slug, reason in waiting.items()}
    return plan.instead(Delete, skips) if skips else plan


def _name_of(action: Action) -> Slug | None:
    """The name that an action's page has when it is its turn; None for a rename."""
    return None if isinstance(action, Move | Adopt) else action.slug
