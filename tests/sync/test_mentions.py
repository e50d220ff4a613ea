import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.core.mentions import (
    CUTS_MAX,
    linked_ways,
    mentioned_attachments,
    unmet_mentions,
    ways_lead_to,
)
from wikisync.core.model import AttachmentPath, Slug

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
        (f"![s](uploads/{H}/a%20b.png)", "a b.png"),
        (f"![s](uploads/{H}/%E6%97%A5.png)", "日.png"),
        (f"![s](uploads/{H}/日本.png)", "日本.png"),
        (f"![s](uploads/{H}/a_(1).png)", "a_(1).png"),
        (rf"![s](uploads/{H}/my\_file.png)", "my_file.png"),
        (f"![s](uploads/{H}/q.png?width=10#top)", "q.png"),
        (f"![s](uploads/{H}/q.png){{width=50%}}", "q.png"),
        (f"<img src='uploads/{H}/i.gif' alt=''>", "i.gif"),
        (f"<img alt='see uploads/{H}/i.gif'/>", "i.gif"),
        (f'<img alt="see uploads/{H}/i.gif">', "i.gif"),
        (f"[[uploads/{H}/p.svg|pic]]", "p.svg"),
        (f"<uploads/{H}/a.png|a text>", "a.png"),
        (f'"uploads/{H}/a.png{{width=50%}}"', "a.png"),
        (f"<uploads/{H}/a.png", "a.png"),
        (f"<uploads/{H}/a.png?width=10>", "a.png"),
        (f"[[file:uploads/{H}/org.png::#id]]", "org.png"),
        (rf"![s](uploads/{H}/a\,b.png)", "a,b.png"),
        (f"![s](uploads/{H}/a%2Cb.png)", "a,b.png"),
    ],
)
def test_mention_is_found_in_every_format(source: str, name: str) -> None:
    assert mentioned_attachments(source) == (f"uploads/{H}/{name}",)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (f"see uploads/{H}/end.txt.", ["end.txt.", "end.txt"]),
        (f"![s](uploads/{H}/ab.)", ["ab.", "ab"]),
        (f"![s](<uploads/{H}/ab >)", ["ab ", "ab"]),
        (f"![s](uploads/{H}/a,b.png)", ["a,b.png", "a"]),
        (f"![s](uploads/{H}/a'b.png)", ["a'b.png", "a"]),
        (f'![s](uploads/{H}/a"b.png)', ['a"b.png', "a"]),
        (f"![s](<uploads/{H}/my file(1).png>)", ["my file(1).png", "my"]),
        (f"[[file:uploads/{H}/my file.png]]", ["my file.png", "my"]),
        (f"[[./uploads/{H}/my file.png][a text]]", ["my file.png", "my"]),
        (f'<img src="uploads/{H}/it\'s.png">', ["it's.png", "it"]),
        (f'<img src="uploads/{H}/my file.png">', ["my file.png", "my"]),
        (f"[[file:uploads/{H}/my file.org::#id]]", ["my file.org", "my"]),
        (f"[[file:uploads/{H}/p.png::5]]", ["p.png::5", "p.png"]),
        (
            f"[[file:uploads/{H}/p.org::*A head]]",
            ["p.org::*A head", "p.org", "p.org::*A"],
        ),
        (f"[s](uploads/{H}/my file.png)", ["my file.png", "my"]),
        (f'![s](./uploads/{H}/my file.png "a title")', ["my file.png", "my"]),
        (f"image::uploads/{H}/my file.png[alt]", ["my file.png", "my"]),
        (f"<<uploads/{H}/p.png,x>>", ["p.png,x", "p.png"]),
        (
            f"image:uploads/{H}/p.png[alt,link=uploads/{H}/p.png,window=_blank]",
            ["p.png", "p.png,window=_blank"],
        ),
    ],
)
def test_name_that_may_end_earlier_is_found_in_every_spelling(
    source: str, names: list[str]
) -> None:
    found = mentioned_attachments(source)
    assert found == tuple(f"uploads/{H}/{name}" for name in names)


def paths(*names: str) -> list[AttachmentPath]:
    return [AttachmentPath(f"uploads/{H}/{name}") for name in names]


@pytest.mark.parametrize(
    ("mentions", "there", "unmet"),
    [
        (["p.png", "q.png"], [], [["p.png"], ["q.png"]]),
        (["p.png", "q.png"], ["p.png"], [["q.png"]]),
        (["p.png::5", "p.png"], ["p.png"], []),
        (["p.png::5", "p.png"], [], [["p.png", "p.png::5"]]),
        (["a,b.png", "a"], ["a,b.png"], []),
        (["a,b.png", "a"], [], [["a,b.png", "a"]]),
        (["a,b.png", "a", "a,c.png"], ["a,b.png"], [["a,c.png", "a"]]),
        (["a-b.png", "a"], ["a"], [["a-b.png"]]),
        (["ab.", "ab"], [], [["ab.", "ab"]]),
        (["ab.", "ab"], ["ab."], []),
        (["p.png.", "p.png"], [], [["p.png", "p.png."]]),
    ],
)
def test_one_spelling_that_is_there_is_enough(
    mentions: list[str], there: list[str], unmet: list[list[str]]
) -> None:
    found = unmet_mentions(paths(*mentions), set(paths(*there)))
    assert found == [paths(*names) for names in unmet]


def test_file_of_one_folder_is_none_of_another() -> None:
    (here,) = paths("a.png")
    other = AttachmentPath(here.replace(H, H[::-1]))
    longer = AttachmentPath(f"{other}::5")
    assert unmet_mentions([here, longer, other], {here}) == [[other, longer]]
    assert unmet_mentions([longer, here, other], {other}) == [[here]]
    assert not unmet_mentions([longer, here, other], {here, other})


def test_hostile_name_has_few_spellings() -> None:
    assert len(mentioned_attachments(f"uploads/{H}/{'a,' * 500}b")) == 1 + CUTS_MAX


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
    monkeypatch.setattr("wikisync.core.mentions.MENTIONS_MAX", 3)
    source = " ".join(f"uploads/{H}/{number}" for number in range(9))
    assert len(mentioned_attachments(source)) == 3


@given(st.text(alphabet="uploads/0123456789abcdef.%()[]\\ \n") | st.text())
def test_any_text_gives_plain_names_below_uploads(source: str) -> None:
    for path in mentioned_attachments(f"uploads/{H}/{source}"):
        top, folder, name = path.split("/")
        assert (top, folder) == ("uploads", H)
        assert name.isprintable()
        assert name not in {"", ".", ".."}


@pytest.mark.parametrize(
    ("source", "ways"),
    [
        ("![1](img/p.png) ![3](/img/p.png)", ["img/p.png", "/img/p.png"]),
        ("![a](<my p.png>)", ["p.png", "my p.png"]),
        ("see img/q.png, and (img/r.png).", ["img/q.png", "img/r.png"]),
        ("![p](a_(1).png) ![p](it's.png)", ["a_(1).png", "it's.png", "a", "it"]),
        ("![p](y%20%5B2%5D.png) ![p](&#46;x/y.png)", ["y [2].png", ".x/y.png"]),
        ("![p](.attachments/x.png =300x)", [".attachments/x.png"]),
        ("![p](p.pdf?raw=true#page=3)", ["(p.pdf", "p.pdf", "true"]),
        (
            ":imagesdir: pics\n\nimage::c.png[]",
            ["image::c.png", "c.png", "pics/image::c.png", "pics/c.png"],
        ),
        ("[a](notes.md) v1.2 https://example.com/a.png", []),
        (f"![p](uploads/{H}/p.png)", []),
    ],
)
def test_way_to_a_file_is_found_in_every_format(source: str, ways: list[str]) -> None:
    assert linked_ways(source) == tuple(ways)


@pytest.mark.parametrize(
    ("source", "way"),
    [
        ("[x](files/LICENSE)", "files/LICENSE"),
        ("[x](LICENSE)", "LICENSE"),
        ("[[the license|LICENSE]]", "LICENSE"),
        ('<a href="LICENSE">', "LICENSE"),
        ("link:LICENSE[the license]", "LICENSE"),
        ("[[file:LICENSE][the license]]", "LICENSE"),
        ("{the license}[LICENSE]", "LICENSE"),
        ("[x](<files/MY LICENSE>)", "files/MY LICENSE"),
        ("[x](files/MY%20LICENSE#top)", "files/MY LICENSE"),
        ("[x][1]\n\n[1]: files/LICENSE", "files/LICENSE"),
        ('<a class="b" href="files/MY LICENSE">', "files/MY LICENSE"),
        ("<a href=files/LICENSE>", "files/LICENSE"),
        ("link:files/LICENSE[the license]", "files/LICENSE"),
        ("[[file:files/LICENSE][the license]]", "files/LICENSE"),
        ("[[the license|files/LICENSE]]", "files/LICENSE"),
        ("{the license}[link:files/LICENSE]", "files/LICENSE"),
        ("link:++files/MY LICENSE.md5++[]", "files/MY LICENSE.md5"),
        ("image::files/shot[]", "files/shot"),
        ('<img src="files/shot">', "files/shot"),
        ("[x](man.1)", "man.1"),
        ("[x](a.mobileconfiguration)", "a.mobileconfiguration"),
        ("[x](a.code-workspace)", "a.code-workspace"),
        ("![x](b.gr\u00f6\u00dfe)", "b.gr\u00f6\u00dfe"),
        ("![x](a.png;v=1)", "a.png;v=1"),
        ("![x](img/a,b.png)", "img/a,b.png"),
        ("image::img/a,b.png[]", "img/a,b.png"),
        ("![x](img/a, b.png)", "img/a, b.png"),
        ("![x](a::b.png)", "a::b.png"),
        ("![x](_top.png)", "_top.png"),
        ("[[file:~t.png]]", "~t.png"),
        ('<img src="!x.png">', "!x.png"),
        ("![](<img/x(1.png>)", "img/x(1.png"),
    ],
)
def test_way_to_a_file_with_a_rare_name_is_found(source: str, way: str) -> None:
    assert way in linked_ways(source)


@pytest.mark.parametrize(
    "piece",
    [
        '"a.b ',
        "<a.b ",
        "(a.b",
        "[ a.b",
        "a.b|",
        "a.b\n",
        ": a.b",
        "=a.b",
        "\\a.b",
        "](<a",
        "]( ",
        "]:",
        "[[",
        "src=",
        "src='a",
        "src=\"'",
        "link:a/b,",
    ],
)
def test_ways_of_a_hostile_page_are_found_in_time(piece: str) -> None:
    started_s = time.process_time()
    linked_ways(piece * 30_000)
    linked_ways(":imagesdir: a.b\n" * 3_000 + "c.png")
    assert time.process_time() - started_s < 10


def test_way_leads_from_the_folder_of_its_page_and_from_the_root() -> None:
    ways = ["p.png", "../q.png", "/r.png", "../../s.png", "gru\u0308n.png"]
    assert set(ways_lead_to(Slug("a/b"), ways)) == {
        *("a/p.png", "p.png", "q.png", "r.png"),
        *("a/gr\u00fcn.png", "gr\u00fcn.png"),
    }
