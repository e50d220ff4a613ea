from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.copies import OWNER, agreed
from wikisync.core.model import AttachmentPath, Digest, Format, Slug, digest_of
from wikisync.errors import StateError
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide import ledger
from wikisync.sync.decide.plan import BasePage

A, B, C = Slug("a"), Slug("b"), Slug("c")
X = digest_of("x")
OTHER = AttachmentPath("uploads/" + "fedcba9876543210" * 2 + "/o.png")
PICTURE = AttachmentPath("uploads/" + "0123456789abcdef" * 2 + "/p.png")


def texts(known: WikiState) -> dict[Slug, str | None]:
    return {slug: known.text(slug) for slug in known.base()}


def reopened(path: Path) -> dict[Slug, BasePage]:
    with State.open(path) as state:
        return dict(state.wiki(OWNER).base())


def test_identities_and_size_are_remembered(known: WikiState, path: Path) -> None:
    one = agreed("a")
    page = replace(one.page, local_identity="fd:12", remote_identity="77", size=4)
    known.record([ledger.Agreed(page, one.zlib, one.mentions)])
    assert known.base() == {A: page}
    assert reopened(path) == {A: page}


@pytest.mark.parametrize(
    ("slugs", "renamed", "after"),
    [
        pytest.param("a", {A: B}, {B: "a"}, id="a page keeps its text"),
        pytest.param("ab", {A: B, B: A}, {A: "b", B: "a"}, id="two may swap names"),
        pytest.param(
            *("abc", {A: B, B: C, C: A}, {A: "c", B: "a", C: "b"}),
            id="names may go round",
        ),
        pytest.param("ab", {A: B}, {B: "a"}, id="onto a record, in whose place it is"),
        pytest.param("b", {A: B}, {B: "b"}, id="an unknown page, in nobody's place"),
    ],
)
def test_renamed(
    known: WikiState,
    path: Path,
    slugs: str,
    renamed: Mapping[Slug, Slug],
    after: Mapping[Slug, str],
) -> None:
    known.record(agreed(slug, slug) for slug in slugs)
    assert known.base()
    known.record(renamed=renamed)
    assert texts(known) == after
    assert all(page.slug == slug for slug, page in known.base().items())
    assert reopened(path) == known.base()


def test_rename_comes_before_drop_and_write(known: WikiState) -> None:
    known.record([agreed("a", "A"), agreed("b", "B")])
    assert known.base()
    known.record([agreed("a", "new")], dropped=[C], renamed={A: C})
    assert texts(known) == {A: "new", B: "B"}


def test_what_is_kept_of_a_page_follows_its_rename(known: WikiState) -> None:
    known.record([agreed("a")])
    known.remember_replaced(B, "of another b", "x", 1.0)
    known.remember_replaced(A, "old", "new", 2.0)
    known.note_write(A, 2.0, digest_of("sent"))
    known.record_conflict_file(
        A, ledger.ConflictFileRecord(Format.ORG, X, "mine", "theirs", 3.0, X)
    )
    known.record_refusal(A, digest_of("x"), "too long", 4.0)
    known.record(renamed={A: B})
    assert [one.replaced for one in known.replaced(B)] == ["old", "of another b"]
    assert known.times_sent(B, digest_of("sent"), 3.0) == 1
    assert set(known.conflict_files()) == {B}
    assert set(known.memory.refusals) == {B}


def test_dropped_page_leaves_only_what_can_be_restored(known: WikiState) -> None:
    known.record([agreed("a")])
    known.remember_replaced(A, "old", "new", 2.0)
    known.note_write(A, 2.0, digest_of("sent"))
    known.record_refusal(A, digest_of("x"), "too long", 4.0)
    known.record(dropped=[A])
    assert not known.base()
    assert known.text(A) is None
    assert not known.times_sent(A, digest_of("sent"), 3.0)
    assert not known.memory.refusals
    assert known.replaced(A)


def test_base_that_somebody_holds_stays_as_it_was(known: WikiState) -> None:
    known.record([agreed("a")])
    held = known.base()
    known.record([agreed("b")], dropped=[A])
    assert set(known.base()) == {B}
    assert set(held) == {A}


def test_what_another_process_wrote_is_read_anew_by_the_next_cycle(
    known: WikiState, path: Path
) -> None:
    """A watch has the base in memory while a command changes it."""
    known.record([agreed("a")])
    assert known.base()
    assert not known.aliases()
    with State.open(path, is_held=False) as other:
        command = other.wiki(OWNER)
        command.refresh([replace(command.base()[A], local_identity="another file")])
        command.record_alias(Slug("A a"), A)
    with known.cycle():
        assert known.base()[A].local_identity == "another file"
        assert known.aliases() == {"A a": A}


def undone(known: WikiState) -> None:
    with known.together():
        another = ledger.FetchedFile(PICTURE, digest_of("another"), None)
        known.record([agreed("b")], dropped=[A])
        known.record_attachments([another])
        assert set(known.base()) == {B}
        assert known.attachments() == {PICTURE: another}
        raise StateError("the disk is full")


def test_what_was_read_is_right_after_a_batch_was_undone(known: WikiState) -> None:
    known.record([agreed("a")])
    picture = ledger.FetchedFile(PICTURE, digest_of("picture"), None)
    known.record_attachments([picture])
    assert known.base()
    with suppress(StateError):
        undone(known)
    assert set(known.base()) == {A}
    assert known.attachments() == {PICTURE: picture}


def half_a_batch(known: WikiState) -> None:
    """Whoever catches an error of a part would keep what was written before it."""
    broken = ledger.Agreed(agreed("b").page, None, "")  # type: ignore[arg-type]
    with known.together():
        known.record([agreed("a")])
        with suppress(StateError):
            known.record([agreed("c"), broken])


def test_batch_in_which_an_error_was_caught_is_undone(known: WikiState) -> None:
    with pytest.raises(AssertionError, match="caught"):
        half_a_batch(known)
    assert not known.base()
    known.record([agreed("a")])
    assert set(known.base()) == {A}


def test_alias_is_noted_changed_and_dropped(known: WikiState) -> None:
    known.record_alias(Slug("My Page"), Slug("My-Page"))
    known.record_alias(Slug("My Page"), Slug("my-page"))
    known.record_alias(Slug("b c"), Slug("b-c"))
    assert known.aliases() == {"My Page": "my-page", "b c": "b-c"}
    known.drop_alias(Slug("My Page"))
    assert known.aliases() == {"b c": "b-c"}


def test_upload_is_known_by_its_content(known: WikiState) -> None:
    digest, later = Digest("a" * 64), Digest("b" * 64)
    for path, content in (("p.png", digest), ("o/p.png", digest), ("p.png", later)):
        known.record_upload(path, content, PICTURE)
    versions = {digest: PICTURE, later: PICTURE}
    assert known.uploads() == {"p.png": versions, "o/p.png": {digest: PICTURE}}
    assert known.upload_of(later) == PICTURE


def test_uploads_of_a_page_follow_it(known: WikiState, path: Path) -> None:
    page = replace(agreed("a").page, uploads=(PICTURE, OTHER))
    known.record([ledger.Agreed.of(page, "a")])
    known.record(renamed={A: B})
    assert reopened(path)[B].uploads == (PICTURE, OTHER)


def test_earlier_text_of_a_page_with_uploads_is_known_as_either_side_had_it(
    known: WikiState,
) -> None:
    """The folder may be set back as the wiki may, and spells links otherwise."""
    page = replace(agreed("a").page, local=X, remote=digest_of("y"), uploads=(OTHER,))
    known.record([ledger.Agreed.of(page, "x")])
    known.record([agreed("a", "z")])
    assert known.earlier([A]) == {A: {X, digest_of("y")}}
