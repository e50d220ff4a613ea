"""Pages that take too long: what they cost, what they never cost, and a second try."""

import re
from collections.abc import Iterator, Sequence

import pytest

from tests.site.sites import Studio
from wikisync.markup import bounded
from wikisync.markup.bounded import Wish
from wikisync.site import attempts, index
from wikisync.site.attempts import LATER_S, SOON_S, Attempts
from wikisync.site.index import BoundedReader
from wikisync.site.model import BuildReport
from wikisync.site.reading import Reading

QUICK_S, FULL_S = 0.25, 0.4
SLOW = "a\n\n----\n\n" * 12_000
"""docutils compares each transition with all before it: seconds."""
SOUND = "-- home.md --\n# Home\n\n*text*\n-- also.rst --\nT\n=\n\n*text*\n"


class Watched(BoundedReader):
    """A reader that says which pages it was given, and for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[str, float]] = []

    def make_all(self, wishes: Sequence[Wish]) -> list[Reading]:
        self.given += [(one.page.slug, one.seconds_max or 0) for one in wishes]
        return super().make_all(wishes)

    def tried(self) -> dict[str, list[float]]:
        """Pages and the seconds of each attempt, since this was asked last."""
        found: dict[str, list[float]] = {}
        for slug, seconds in self.given:
            found.setdefault(slug, []).append(seconds)
        self.given = []
        return found


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    parser = Watched()
    monkeypatch.setattr(index, "bounded_reader", lambda: parser)
    monkeypatch.setattr(attempts, "QUICK_SECONDS", QUICK_S)
    monkeypatch.setattr(attempts, "QUICK_SECONDS_PER_CHARACTER", 0.0)
    monkeypatch.setattr(attempts, "RESTART_SECONDS", 0.0)
    for module in (attempts, index):
        monkeypatch.setattr(module, "PAGE_SECONDS_MAX", FULL_S)
    yield parser
    parser.close()


@pytest.fixture
def hostile(studio: Studio) -> Studio:
    """Two sound pages and three that never end, whose time is used up by two."""
    folder = studio.add(SOUND)
    for name in ("bad1", "bad2", "bad3"):
        (folder / f"{name}.rst").write_text(f"{name}\n\n{SLOW}")
    studio.set(slow_pages_seconds=3 * QUICK_S + 0.1)
    return studio


def said(report: BuildReport) -> dict[str, str]:
    """What the report says of each page, without its size."""
    size = re.compile(r" \(it has [\d,]+ bytes\)\Z")
    found = {one.subject: one.message for one in report.problems}
    assert all(map(size.search, found.values()))
    return {subject: size.sub("", message) for subject, message in found.items()}


TOOK_ALL = f"it takes longer than {FULL_S:g} seconds of processor time to parse"
NO_TIME = "it is slow to parse, and the limit of 0.85 seconds for slow pages is used up"


def test_pages_that_never_end_cost_the_budget_and_no_other_page(
    hostile: Studio, watched: Watched
) -> None:
    report = hostile.build()

    assert said(report) == {"bad1": TOOK_ALL, "bad2": NO_TIME, "bad3": NO_TIME}
    assert watched.tried() == {
        "home": [QUICK_S],
        "also": [QUICK_S],
        "bad1": [QUICK_S, FULL_S],
        "bad2": [QUICK_S],
        "bad3": [QUICK_S],
    }
    assert "<em>text</em>" in hostile.article("index.html")
    assert "<em>text</em>" in hostile.article("also.html")
    assert TOOK_ALL in hostile.read("bad1.html")
    assert NO_TIME in hostile.read("bad2.html")


def test_breach_is_remembered_and_then_tried_again(
    hostile: Studio, watched: Watched
) -> None:
    now = 1_000_000.0
    hostile.clock = lambda: now
    first = hostile.build()
    watched.tried()

    now += SOON_S - 1
    again = hostile.build()
    assert (again.problems, again.written) == (first.problems, 0)
    hostile.options = type(hostile.options)("Other title")
    hostile.set(slow_pages_seconds=3 * QUICK_S + 0.1)
    hostile.build()
    assert watched.tried() == {}

    # those that had no full attempt get one, without another quick one
    now += 1
    assert said(hostile.build()) == dict.fromkeys(("bad1", "bad2", "bad3"), TOOK_ALL)
    assert watched.tried() == {"bad2": [FULL_S], "bad3": [FULL_S]}

    now += LATER_S - SOON_S
    hostile.build()
    assert watched.tried() == {"bad1": [QUICK_S, FULL_S]}


def test_page_of_a_wiki_that_is_as_it_was_is_tried_again(
    hostile: Studio, watched: Watched
) -> None:
    now = 1_000_000.0
    hostile.clock = lambda: now
    other = hostile.add("-- home.md --\nText.\n", "docs/other")
    hostile.build()
    watched.tried()
    for seconds, tried in ((SOON_S - 1, {}), (1, {"bad2": [FULL_S], "bad3": [FULL_S]})):
        now += seconds
        (other / "home.md").write_text(f"Text {seconds}.\n")
        hostile.build()
        assert watched.tried() == {"home": [QUICK_S]} | tried


def test_page_is_tried_again_when_that_is_asked_for(
    hostile: Studio, watched: Watched
) -> None:
    hostile.build()
    watched.tried()
    hostile.set(retries=True, slow_pages_seconds=60.0)
    assert said(hostile.build()) == dict.fromkeys(("bad1", "bad2", "bad3"), TOOK_ALL)
    # bad1 had its full attempt: it begins anew, after a quick one
    assert watched.tried() == {
        "bad1": [QUICK_S, FULL_S],
        "bad2": [FULL_S],
        "bad3": [FULL_S],
    }


def test_page_that_ends_at_a_later_attempt_is_as_in_a_clean_build(
    studio: Studio, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = studio.add(SOUND)
    (folder / "large.rst").write_text(f"large\n\n{SLOW[:14_000]}")
    now = 1_000_000.0
    studio.clock = lambda: now
    assert said(studio.build()) == {"large": TOOK_ALL}

    for module in (attempts, index, bounded):
        monkeypatch.setattr(module, "PAGE_SECONDS_MAX", 60.0)
    now += LATER_S
    assert said(studio.build()) == {}

    assert watched.tried()["large"] == [QUICK_S, FULL_S, QUICK_S, 60.0]
    assert studio.files() == studio.clean_build()


def test_page_that_is_edited_is_tried_at_once(
    hostile: Studio, watched: Watched
) -> None:
    hostile.build()
    watched.tried()
    (hostile.sources[0].folder / "bad1.rst").write_text("mended\n")
    report = hostile.build()
    assert "bad1" not in said(report)
    assert watched.tried() == {"bad1": [QUICK_S]}


def test_page_that_is_out_of_memory_had_its_attempt(
    studio: Studio, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f".. |a{n}| replace:: |a{n - 1}| |a{n - 1}|\n" for n in range(1, 40)]
    source = "\n".join([".. |a0| replace:: x\n", *lines, "|a39|\n"])
    (studio.add(SOUND) / "greedy.rst").write_text(source)
    monkeypatch.setattr(attempts, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(attempts, "PAGE_SECONDS_MAX", 60.0)
    now = 1_000_000.0
    studio.clock = lambda: now
    assert "too much memory" in said(studio.build())["greedy"]
    now += SOON_S
    studio.build()
    assert watched.tried()["greedy"] == [60.0]


# -- the rules alone ---------------------------------------------------------------


def test_budget_counts_attempts_and_what_follows_them() -> None:
    made = Attempts(10.0, clock=lambda: 0.0)
    seen = []
    for seconds in (9.0, 0.0, 0.5):
        made.failed(seconds, is_slow=True)
        seen.append(made.has_time)
    made.renew()
    assert [*seen, made.has_time] == [True, True, False, True]


def test_quick_attempt_grows_with_the_page_up_to_the_whole_time() -> None:
    made = Attempts()
    assert made.quick_seconds("") == pytest.approx(1.0)
    assert made.quick_seconds("x" * 100_000) == pytest.approx(3.0)
    assert made.quick_seconds("x" * 1_000_000) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("retry_at", "is_due"),
    [(0.0, False), (999.0, True), (1000.0, True), (1001.0, False), (1e9, True)],
)
def test_page_is_due_from_a_time_on(retry_at: float, is_due: bool) -> None:
    """A clock that was years ahead puts nothing off for years."""
    assert Attempts(clock=lambda: 1000.0).is_due(retry_at) is is_due
    assert Attempts(clock=lambda: 1000.0, retries=True).is_due(retry_at) is (
        retry_at > 0
    )
