import pytest

from wikisync.folder.ignore import backed_up_name, locked_name


@pytest.mark.parametrize(
    ("name", "page"),
    [
        (".#home.md", "home.md"),
        (".home.md.swp", "home.md"),
        (".home.md.swo", "home.md"),
        ("~$home.md", "home.md"),
        (".~lock.home.md#", "home.md"),
        (".a b.conflict.md.swx", "a b.conflict.md"),
    ],
)
def test_lock_file_names_the_file_that_is_open(name: str, page: str) -> None:
    assert locked_name(name) == page


@pytest.mark.parametrize(
    "name", ["home.md", ".swp", ".home.md", "home.md~", ".#", "~$"]
)
def test_other_names_are_no_locks(name: str) -> None:
    assert locked_name(name) is None


@pytest.mark.parametrize(
    ("name", "page"), [("home.md~", "home.md"), ("#home.md#", "home.md"), ("~", None)]
)
def test_backup_names_its_file(name: str, page: str | None) -> None:
    assert backed_up_name(name) == page
