from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.sync.mentions import mentioned_attachments

H = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (f"![dk](uploads/{H}/dk.png)", "dk.png"),
        (f"[log](./uploads/{H}/a.tar.gz 'title')", "a.tar.gz"),
        (f"[up](../../uploads/{H}/x.pdf)", "x.pdf"),
        (f"[[pic|uploads/{H}/p.svg]]", "p.svg"),
        (f'<img src="uploads/{H}/i.gif" alt="">', "i.gif"),
        (f"![a](<uploads/{H}/n.png>)", "n.png"),
        (f"[ref]: uploads/{H}/r.png", "r.png"),
        (f"image::uploads/{H}/ad.png[Alt, 300]", "ad.png"),
        (f"link:uploads/{H}/ad.zip[the file]", "ad.zip"),
        (f"[[file:uploads/{H}/org.png][text]]", "org.png"),
        (f"rdoc-image:uploads/{H}/rd.png", "rd.png"),
        (f"{{label}}[link:uploads/{H}/rd.pdf]", "rd.pdf"),
        (f"see uploads/{H}/end.txt.", "end.txt"),
        (f"![s](uploads/{H}/a%20b.png)", "a b.png"),
        (f"![s](uploads/{H}/%E6%97%A5.png)", "日.png"),
        (f"![s](uploads/{H}/日本.png)", "日本.png"),
        (f"![s](uploads/{H}/a_(1).png)", "a_(1).png"),
        (rf"![s](uploads/{H}/my\_file.png)", "my_file.png"),
        (f"![s](uploads/{H}/q.png?width=10#top)", "q.png"),
        (f"![s](uploads/{H}/q.png){{width=50%}}", "q.png"),
    ],
)
def test_mention_is_found_in_every_format(source: str, name: str) -> None:
    assert mentioned_attachments(source) == (f"uploads/{H}/{name}",)


@pytest.mark.parametrize(
    "source",
    [
        f"![project file](/uploads/{H}/x.png)",
        f"https://example.com/a/-/wikis/uploads/{H}/x.png",
        f"other/uploads/{H}/x.png",
        f"myuploads/{H}/x.png",
        "uploads/short/x.png",
        f"uploads/{H}",
        f"uploads/{H}/",
        f"uploads/{H}/..",
        f"uploads/{H}/%2e%2e",
        f"uploads/{H}/a%2Fb",
        f"uploads/{H}/a%5Cb",
        f"uploads/{H}/a%00b",
        f"uploads/{H}/a%0Ab",
    ],
)
def test_what_is_no_attachment_of_the_wiki_is_left_alone(source: str) -> None:
    assert mentioned_attachments(source) == ()


def test_attachment_mentioned_twice_is_named_once() -> None:
    source = f"uploads/{H}/b.png uploads/{H}/a.png uploads/{H}/b.png"
    assert mentioned_attachments(source) == (f"uploads/{H}/b.png", f"uploads/{H}/a.png")


def test_hostile_page_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikisync.sync.mentions.MENTIONS_MAX", 3)
    source = " ".join(f"uploads/{H}/{number}" for number in range(9))
    assert len(mentioned_attachments(source)) == 3


@given(st.text(alphabet="uploads/0123456789abcdef.%()[]\\ \n") | st.text())
def test_any_text_gives_plain_names_below_uploads(source: str) -> None:
    for path in mentioned_attachments(f"uploads/{H}/{source}"):
        top, folder, name = path.split("/")
        assert (top, folder) == ("uploads", H)
        assert name.isprintable()
        assert name not in {"", ".", ".."}
