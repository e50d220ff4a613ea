import pickle
from base64 import b64encode

import pytest

from wikisync.api.secret import Secret
from wikisync.errors import UsageError

TOKEN = "glpat-EXAMPLE"


@pytest.mark.parametrize("shown", ["{}", "{!r}", "{!s}", "{:>20}"])
def test_no_way_of_formatting_shows_the_token(shown: str) -> None:
    assert TOKEN not in shown.format(Secret(TOKEN))


def test_a_secret_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="not written anywhere"):
        pickle.dumps(Secret(TOKEN))


def test_a_token_read_from_a_file_loses_its_newline() -> None:
    secret = Secret.from_text(f" {TOKEN}\n")
    assert secret == Secret(TOKEN)


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_token_is_none_at_all(text: str) -> None:
    assert Secret.from_text(text) is None


@pytest.mark.parametrize("text", ["a b", "a\nHost: x", "a\x00b", "glpat-é", "“x”"])
def test_a_token_that_no_header_can_carry_is_refused_unseen(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        Secret.from_text(text)
    assert text not in refused.value.message


def test_redacting_masks_every_mention() -> None:
    secret = Secret(TOKEN)
    assert secret.redact(f"a {TOKEN} b {TOKEN}") == "a *** b ***"
    assert secret.redact_bytes(TOKEN.encode()) == b"***"


def test_redacting_masks_what_git_sends_too() -> None:
    secret = Secret(TOKEN)
    login = b64encode(f"oauth2:{TOKEN}".encode())
    assert secret.redact(f"Basic {login.decode()}") == "Basic ***"
    assert secret.redact_bytes(b"Basic " + login) == b"Basic ***"
