from hypothesis import given

from tests.folder.hostile import formats, repeatable, slugs
from wikisync.core.model import Format, Slug
from wikisync.folder import naming


@repeatable
@given(slugs, formats)
def test_names_leave_room_for_a_mark_and_any_extension(
    slug: Slug, page_format: Format
) -> None:
    """255 less the longest extension, the longest mark, and one sign coded late."""
    parts = naming.encode_slug(slug, page_format)
    assert max(len(part.encode()) for part in parts) <= naming.COMPONENT_BYTES_MAX + 4


def test_folder_and_page_of_one_name_are_coded_by_their_own_rules() -> None:
    folder = naming.encode_component("x.md", None, naming.PathDigest(), is_top=True)
    page = naming.encode_component("x.md", Format.ORG, naming.PathDigest(), is_top=True)
    assert (folder, page) == (["x%2Emd"], ["x.md"])


def test_digest_of_a_name_depends_on_its_folder() -> None:
    inside = naming.PathDigest()
    inside.enter("docs")
    assert inside.of("home") != naming.PathDigest().of("home")


def test_code_of_a_newer_unicode_is_read_though_we_would_not_write_it() -> None:
    """Which characters form C changes grows with Unicode's version."""
    assert naming.decode_slug(["caf%C3%A9"], Format.MARKDOWN) == "café"
