import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from wikisync.api.address import ServiceAddress, encode_path
from wikisync.api.pool import without_secrets
from wikisync.core.model import WikiOwner
from wikisync.errors import UsageError


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("https://gitlab.example.com", "https://gitlab.example.com"),
        ("https://gitlab.example.com/", "https://gitlab.example.com"),
        (" https://gitlab.example.com\n", "https://gitlab.example.com"),
        ("https://gitlab.example.com/api/v4", "https://gitlab.example.com"),
        ("https://gitlab.example.com/api/v4/", "https://gitlab.example.com"),
        ("https://example.com/git/", "https://example.com/git"),
        ("https://example.com/git//", "https://example.com/git"),
        ("https://example.com/git/api/v4", "https://example.com/git"),
        ("HTTP://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
    ],
)
def test_base_urls_as_people_write_them(written: str, root: str) -> None:
    assert str(ServiceAddress.parse(written)) == root


@given(
    st.from_regex(
        r"http(s?)://[a-z0-9][a-z0-9.-]{0,9}(:[0-9]{1,5})?(/[A-Za-z0-9_.-]{1,3}){0,3}/?",
        fullmatch=True,
    )
)
@example("https://h:443/git")
@example("http://h:80")
@example("http://h:60000/")
def test_an_address_is_read_alike_however_much_there_is_to_normalise(
    written: str,
) -> None:
    def read(text: str) -> tuple[ServiceAddress, str] | str:
        try:
            return (address := ServiceAddress.parse(text)), str(address)
        except UsageError as error:
            return error.message.casefold()

    # with its scheme in capitals nothing is normal as it stands
    assert read(written) == read(re.sub("^http", "HTTP", written))


def test_usual_port_is_none_to_name() -> None:
    address = ServiceAddress.parse("https://h:443/git")
    assert (address.port, address.authority) == (443, "h")
    assert ServiceAddress.parse("http://[::1]:443").authority == "[::1]:443"


@pytest.mark.parametrize(
    ("root", "written", "path"),
    [
        ("https://h", "docs/handbook", "docs/handbook"),
        ("https://h", " /docs/handbook/ ", "docs/handbook"),
        ("https://h", "12", "12"),
        ("https://h", "https://h/docs/handbook", "docs/handbook"),
        ("https://h", "https://H:443/docs/handbook/?tab=1#x", "docs/handbook"),
        ("https://h", "https://h/docs/handbook/-/wikis/home", "docs/handbook"),
        ("https://h", "https://h/docs/handbook.git", "docs/handbook"),
        ("https://h", "https://h/docs/handbook.wiki.git", "docs/handbook"),
        ("https://h", "https://h/groups/docs/deep/-/wikis", "docs/deep"),
        ("https://h", "https://u:p@h/docs/%C3%BCber", "docs/über"),
        ("https://h/git", "https://h/git/docs/handbook", "docs/handbook"),
    ],
)
def test_paths_are_taken_as_people_paste_them(
    root: str, written: str, path: str
) -> None:
    assert ServiceAddress.parse(root).path_of(written) == path


@pytest.mark.parametrize(
    ("root", "written", "message", "path"),
    [
        ("https://h", " / ", "an empty path names no project", "docs/handbook"),
        ("https://h", "docs/\udcff", "docs/\udcff names no project", "docs/handbook"),
        ("https://h", "https://other/a/b/-/wikis", "https://other/a/b/-/wikis", "a/b"),
        ("https://h", "http://h/a/b", "http://h/a/b is not the address", "a/b"),
        ("https://h", "https://h/", "https://h/ is not the", "docs/handbook"),
        ("https://h", "https://h/api/v4/projects/1", "is not the", "docs/handbook"),
        ("https://h/git", "https://h/a/b", "or group on https://h/git", "a/b"),
        ("https://h/git", "https://h/github/a", "or group on https://h", "github/a"),
    ],
)
def test_address_of_something_else_is_refused_with_a_path_to_give(
    root: str, written: str, message: str, path: str
) -> None:
    with pytest.raises(UsageError) as refused:
        ServiceAddress.parse(root).path_of(written)
    assert message in refused.value.message
    assert (refused.value.hint or "").endswith(f"like {path}")


def test_refused_address_shows_no_password() -> None:
    with pytest.raises(UsageError) as refused:
        ServiceAddress.parse("https://h").path_of("https://u:glpat-EXAMPLE@o/a/b?t=s")
    assert refused.value.message.startswith("https://o/a/b is not the address")


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("", "the URL of the service is empty", "https://gitlab.example.com"),
        (
            "gitlab.example.com",
            "gitlab.example.com has no scheme",
            "write https://gitlab.example.com",
        ),
        (
            "localhost:8080",
            "localhost:8080 has no scheme",
            "write http://localhost:8080",
        ),
        ("ftp://example.com", "ftp://example.com is neither http nor https", "https"),
        ("https://", "https:// names no host", "https://gitlab.example.com"),
        ("https://a b/", "https://a b/ names no host", "https://gitlab.example.com"),
        ("http://x:99999", "http://x:99999 is not a URL", "https://"),
        ("http://[::1", "http://[::1 is not a URL", "https://"),
        (
            "https://example.com/docs/handbook/-/wikis/home",
            "is the address of a page, not of the service",
            "https://example.com, and name the wiki",
        ),
        (
            "https://example.com/?private_token=glpat-EXAMPLE",
            "https://example.com/ is the address of a page",
            "https://example.com,",
        ),
        ("https://example.com/#top", "is the address of a page", "only the service"),
    ],
)
def test_what_cannot_be_a_service_is_named_with_the_way_out(
    written: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        ServiceAddress.parse(written)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    "written",
    [
        "https://maria:s3cret@example.com/",
        "https://maria:s3/cret@example.com/",
        "https://s3cret@example.com",
        "maria:s3cret@example.com",
        "ftp://maria:s3cret@example.com",
        "https://maria:s3cret@example.com:99999/",
        "https://:s3cret@example.com/",
    ],
)
def test_user_information_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(UsageError) as refused:
        ServiceAddress.parse(written)
    shown = f"{refused.value.message} {refused.value.hint}"
    assert "cret" not in shown
    assert "maria" not in shown


def test_a_path_is_sent_as_it_was_encoded() -> None:
    address = ServiceAddress.parse("https://example.com/git")
    url = address.url("/api/v4/projects/a%2Fb/wikis/%2E%2E%2F%25", "q=%2F")
    assert str(url) == (
        "https://example.com/git/api/v4/projects/a%2Fb/wikis/%2E%2E%2F%25?q=%2F"
    )


@pytest.mark.parametrize(
    ("owner", "path"),
    [
        (WikiOwner("project", "docs/handbook"), "/docs/handbook/-/wikis/"),
        (WikiOwner("group", "docs"), "/groups/docs/-/wikis/"),
    ],
)
def test_files_of_a_wiki_are_on_the_web_side(owner: WikiOwner, path: str) -> None:
    address = ServiceAddress.parse("https://example.com/git/api/v4")
    url = address.wiki_file(owner, "uploads/ab/a b?.png")
    assert str(url) == f"https://example.com/git{path}uploads/ab/a%20b%3F.png"


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ("https://example.com/other?x=1", True),
        ("https://example.com:443/", True),
        ("https://user@example.com/", True),
        ("http://example.com/git", False),
        ("https://example.com:8443/git", False),
        ("https://example.com.evil.example/git", False),
        ("/relative", False),
    ],
)
def test_the_origin_is_scheme_host_and_port(other: str, is_same: bool) -> None:
    address = ServiceAddress.parse("https://example.com/git")
    assert address.is_same_origin(other) is is_same


def test_dot_segments_and_slashes_of_a_path_survive_its_encoding() -> None:
    assert encode_path("a/../b c/.") == "a/%2E%2E/b%20c/%2E"


def test_a_url_for_messages_holds_no_secret() -> None:
    url = URL("https://u:p@example.com/a?private_token=x#y")
    assert without_secrets(url) == "https://example.com/a"


@pytest.mark.parametrize(
    ("url", "is_loopback"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.9.9.9", True),
        ("http://localhost/gitlab", True),
        ("http://[::1]:8080", True),
        ("https://gitlab.example.com", False),
        ("https://localhost.example.com", False),
        ("https://12.7.0.1", False),
    ],
)
def test_loopback_is_known(url: str, is_loopback: bool) -> None:
    assert ServiceAddress.parse(url).is_loopback is is_loopback
