from __future__ import annotations

import pytest

from wikisync.api.scan import state_of
from wikisync.model import Format, Page, Slug, digest_of, fold_text


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\n\n", "\r\n", "\r", "a", "a\n", "a\n\n", "a\n\n\n"),
        *("a\r\n", "a\r\nb\n", "a\r\n\n", "a\nb", "a\rb\n", "naïve\n", "\n\na\n"),
    ],
)
def test_folded_digest_is_known_exactly_where_folding_changes_the_text(
    text: str,
) -> None:
    state = state_of(Page(Slug("a"), Format.ORG, text), "7")
    folded = fold_text(text)
    assert state.folded == (None if folded == text else digest_of(folded))
    assert (state.digest, state.identity) == (digest_of(text), "7")
    assert state.size == len(text.encode())
