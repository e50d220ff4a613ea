"""The redirects file, ours and the real service's."""

from hypothesis import given
from hypothesis import strategies as st

from wikisync.markup.links import parse_redirects, render_redirects

SLUGS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(st.dictionaries(SLUGS, SLUGS, max_size=5))
def test_what_is_written_is_read_back(redirects: dict[str, str]) -> None:
    assert parse_redirects(render_redirects(redirects)) == redirects


def test_plain_and_quoted_scalars_of_the_real_service_are_read() -> None:
    source = b"---\nold: new/page\n'it''s': \"a\\tb\"\nC++: c#\na:b: c\n"

    assert parse_redirects(source) == {
        "old": "new/page",
        "it's": "a\tb",
        "C++": "c#",
        "a:b": "c",
    }


def test_lines_that_are_no_entries_are_left_out() -> None:
    source = b'- a\n# note\n  \n\xff\xfe\n&x y: z\n"broken: x\nok: yes\n'

    assert parse_redirects(source) == {"ok": "yes"}
