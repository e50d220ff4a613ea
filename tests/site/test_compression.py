"""Packed files of a site: right, stable, and no more than the site has."""

from __future__ import annotations

import gzip
import sys

import brotli
import pytest

from tests.site.sites import Studio
from wikisync.errors import SiteError

WIKI = f"""\
-- home.md --
# Welcome

[guide](guide) ![](uploads/0123456789abcdef0123456789abcdef/a.png)
-- guide.md --
{"Words of the guide. " * 40}
-- uploads/0123456789abcdef0123456789abcdef/a.png --
{"x" * 1000}
"""
PACKED = {".gz": gzip.decompress, ".br": brotli.decompress}


@pytest.fixture
def packed(studio: Studio) -> Studio:
    studio.add(WIKI)
    studio.set(compress=True)
    studio.build()
    return studio


def test_text_files_unpack_to_their_originals(packed: Studio) -> None:
    files = packed.files()
    for suffix, unpack in PACKED.items():
        names = {name for name in files if name.endswith(suffix)}
        assert {f"guide.html{suffix}", f"-/search.html{suffix}"} <= names
        assert not any(".png" in name or "manifest" in name for name in names)
        for name in names:
            original = files[name.removesuffix(suffix)]
            assert unpack(files[name]) == original
            assert len(original) >= 256


def test_packed_files_are_in_the_manifest(packed: Studio) -> None:
    manifest = packed.read("-/manifest.json")
    assert '"guide.html.gz"' in manifest
    assert '"guide.html.br"' in manifest


def test_only_changed_files_are_packed_again(
    packed: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs: list[bytes] = []
    real = gzip.compress

    def counted(content: bytes, *given: int, **how: int) -> bytes:
        packs.append(content)
        return real(content, *given, **how)

    monkeypatch.setattr(gzip, "compress", counted)
    (packed.sources[0].folder / "guide.md").write_text("Other words. " * 40)
    packed.build()
    assert any(b"Other words" in content for content in packs)
    assert not any(b"<title>Welcome" in content for content in packs)
    assert packed.files() == packed.clean_build()


def test_packed_file_goes_with_its_file(packed: Studio) -> None:
    (packed.sources[0].folder / "guide.md").unlink()
    packed.build()
    assert not any(name.startswith("guide.html") for name in packed.files())


def test_packed_files_go_when_nobody_wants_them_and_pages_stay(packed: Studio) -> None:
    before = packed.files()
    packed.set(compress=False)
    report = packed.build()
    after = packed.files()
    assert not any(name.endswith((".gz", ".br")) for name in after)
    assert after["guide.html"] == before["guide.html"]
    assert report.removed > 10
    packed.set(compress=True)
    packed.build()
    assert packed.files() == before


def test_damaged_packed_file_is_put_right(packed: Studio) -> None:
    good = packed.files()
    (packed.site / "guide.html.gz").write_bytes(b"damaged")
    packed.build()
    assert packed.files() == good


def test_file_of_the_wiki_is_not_replaced_by_a_packed_one(studio: Studio) -> None:
    folder = "uploads/0123456789abcdef0123456789abcdef"
    text = "a,b\n" * 200
    studio.add(
        f"-- home.md --\n[a]({folder}/a.csv) [b]({folder}/a.csv.gz)\n"
        f"-- {folder}/a.csv --\n{text}-- {folder}/a.csv.gz --\nmine\n"
    )
    studio.set(compress=True)
    studio.build()
    files = studio.files()
    assert files[f"{folder}/a.csv.gz"] == b"mine\n"
    assert brotli.decompress(files[f"{folder}/a.csv.br"]) == text.encode()


def test_missing_brotli_is_named_before_anything_is_written(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.add(WIKI)
    studio.set(compress=True)
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(SiteError, match="brotli is not installed") as caught:
        studio.build()
    assert "the package brotli" in (caught.value.hint or "")
    assert not studio.site.exists()
