"""Work on many things at once: order, bound, and what is raised."""

import threading
from collections.abc import Iterator

import pytest

from wikisync.core.system.parallel import in_order, usable_cores


def test_results_come_in_the_order_of_their_items() -> None:
    first = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert first.wait(60)
        if item == 1:
            first.set()
        return -item

    assert list(in_order(work, range(5), threads=2, ahead=4)) == [0, -1, -2, -3, -4]


def test_only_a_few_items_are_worked_on_ahead() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = in_order(abs, items(), threads=1, ahead=4)
    assert next(results) == 0
    assert len(taken) == 5
    assert len(list(results)) == 999


def test_what_the_work_raises_is_raised_where_the_result_is_wanted() -> None:
    results = in_order((10).__floordiv__, [5, 0, 2], threads=1, ahead=4)
    assert next(results) == 2
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_there_is_a_core() -> None:
    assert usable_cores() >= 1
