import time

import pytest

from wikisync.core.contents import POINTER_BYTES_MAX, is_pointer

OID = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12345\n"
KEY = f"SHA256E-s1048576--{OID}.md"
LINK = "../home.md"


@pytest.mark.parametrize(
    "text",
    [
        LFS,
        LFS.rstrip(),
        LFS.replace("\n", "\r\n"),
        f"\ufeff{LFS}\n",
        LFS.replace("oid", f"ext-0-case sha256:{OID}\noid"),
        LFS.replace("git-lfs", "hawser"),
        LFS.replace("https://git-lfs.github.com/spec/v1", "http://git-media.io/v/2"),
        f"{LFS}x-is-binary 0\n",
        f"/annex/objects/{KEY}\n",
        f"/annex/objects/{KEY}\n/annex/note not here\n",
        "/annex/objects/WORM-s5-m1289672605--my notes.md",
        f"../../.git/annex/objects/x1/Y2/{KEY}/{KEY}",
        f"../.git/modules/my wiki/annex/objects/x1/Y2/{KEY}/{KEY}",
        f"..\\.git\\annex\\objects\\x1\\Y2\\{KEY}\\{KEY}\n",
        f"#$# git-fat {OID[:40]}                12345\n",
        f"XSym\n{len(LINK):04}\n{OID[:32]}\n{LINK}\n{'':1000}",
    ],
)
def test_whole_text_that_is_a_pointer_is_one(text: str) -> None:
    assert is_pointer(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Git LFS\n\nA pointer begins with its version.\n",
        f"# Git LFS\n\n{LFS}",
        f"```\n{LFS}```\n",
        f"{LFS}\nThis is what a pointer looks like.\n",
        LFS.replace("size 12345\n", ""),
        LFS.replace("spec/v1", "spec/next"),
        "/annex/objects/\n",
        f"/annex/objects/{KEY}\nis where git-annex has it.\n",
        f"See /annex/objects/{KEY}\n",
        f"See ../.git/annex/objects/{KEY}\n",
        "#$# git-fat\n",
        f"XSym\n0010\nnot a digest\n{LINK}\n",
    ],
)
def test_text_about_pointers_is_none(text: str) -> None:
    assert not is_pointer(text.encode())


def test_pointer_in_utf_16_is_a_pointer() -> None:
    """PowerShell writes one so."""
    assert is_pointer(LFS.encode("utf-16"))
    assert not is_pointer("# Git LFS\n".encode("utf-16"))


@pytest.mark.parametrize(
    "part", ["/a", "a/annex/objects/", "ext-0-a b\n", "x-a\n", " "]
)
def test_hostile_text_costs_no_time(part: str) -> None:
    """Somebody else may have written it."""
    start = f"version https://git-lfs.github.com/spec/v1\n{part * 1100}"
    started = time.perf_counter()
    for text in (part * 1100, start):
        is_pointer(text.encode()[:POINTER_BYTES_MAX])
    assert time.perf_counter() - started < 0.5
