import pytest

from wikisync.api.listing import next_query, total_of

NEXT = '<https://inside:8443/api/v4/projects?id_after=9&sort=asc>; rel="next"'


@pytest.mark.parametrize(
    "link",
    [
        NEXT,
        f'<https://h/p?page=1>; rel="first", {NEXT}, <https://h/p?page=9>; rel="last"',
        NEXT.replace('"', ""),
        NEXT.replace('"next"', '"last next"'),
        NEXT.replace('; rel="next"', '; title="a, b"; REL="Next"'),
        NEXT.replace(">", "#part>"),
    ],
)
def test_the_query_of_the_next_link_is_taken(link: str) -> None:
    assert next_query({"link": link}, "sort=asc") == "id_after=9&sort=asc"


@pytest.mark.parametrize(
    ("text", "total"),
    [("12", 12), (" 0 ", 0), ("", None), ("-1", None), ("²", None), ("9" * 20, None)],
)
def test_total_is_known_where_the_service_counts(text: str, total: int | None) -> None:
    assert total_of({"x-total": text}) == total
