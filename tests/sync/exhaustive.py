"""Every world of up to two pages: all that base, local and remote can be.

Three names, one of them below another, and texts that both sides have, that only
one has, and that both came to by themselves.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from tests.sync.world import Text, World

NAMES = ("p", "q", "p/k")
PAGES_MAX = 2
AGREED = ("one", "two")
HERE = (*AGREED, "mine", "same")
THERE = (*AGREED, "theirs", "same")


def wikis(texts: tuple[str, ...]) -> list[Mapping[str, str]]:
    """Every wiki of up to two pages with these texts."""
    return [
        dict(zip(names, chosen, strict=True))
        for size in range(PAGES_MAX + 1)
        for names in combinations(NAMES, size)
        for chosen in product(texts, repeat=size)
    ]


def worlds() -> Iterator[World]:
    """Every base with every local and every remote, without and with identities."""
    sides = product(wikis(AGREED), wikis(HERE), wikis(THERE), (False, True))
    for base, local, remote, has_ids in sides:
        pages = numbered(base)
        yield World(
            texts(base, pages),
            texts(local, moved(base, local, pages, 10)),
            texts(remote, moved(base, remote, pages, 20)),
            has_ids,
        )


def numbered(base: Mapping[str, str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(base))}


def moved(
    base: Mapping[str, str], side: Mapping[str, str], pages: Mapping[str, int], new: int
) -> dict[str, int]:
    """Which page is which: those that vanished are those that came, in order."""
    gone = iter([pages[name] for name in sorted(base) if name not in side])
    found: dict[str, int] = {}
    for number, name in enumerate(sorted(side)):
        found[name] = pages[name] if name in base else next(gone, new + number)
    return found


def texts(side: Mapping[str, str], pages: Mapping[str, int]) -> dict[str, Text]:
    return {name: Text(f"{text}\n", pages[name]) for name, text in side.items()}


def prove(world: World) -> int:
    """Bring a world to rest and check it; the rounds it took.

    Raises:
        AssertionError: a text is gone, or a page differs and nothing holds it.
    """
    local, remote = dict(world.local), dict(world.remote)
    base = dict(world.base)
    rounds, held = world.rest()
    check(base, local, remote, world)
    for name in world.local.keys() | world.remote.keys():
        mine, theirs = world.local.get(name), world.remote.get(name)
        if mine is None or theirs is None or mine.content != theirs.content:
            pages = {text.page for text in (mine, theirs) if text}
            assert pages & held, f"{name} differs, and nothing holds it"
    return rounds


def check(
    base: Mapping[str, Text],
    local: Mapping[str, Text],
    remote: Mapping[str, Text],
    world: World,
) -> None:
    """No text is gone but one that a side no longer has where the base had it."""
    left = {text.content for text in (*world.local.values(), *world.remote.values())}
    kept = "".join(left)
    for name, text in (*local.items(), *remote.items()):
        was_dropped = any(
            old.content == text.content
            and any(
                one not in side or side[one].content != old.content
                for side in (local, remote)
            )
            for one, old in base.items()
        )
        assert text.content in kept or was_dropped, f"{name}: {text.content} is lost"
