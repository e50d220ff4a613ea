"""What links and pictures become once the index has answered."""

import pytest

from tests.support.markup import parse, render

PNG = "uploads/a/pic.png"


def test_page_link_has_the_address_of_the_page() -> None:
    page = render("[x](my%20page#part-1)", pages=["my-page"])
    assert '<a href="/my-page.html#part-1">x</a>' in page.html
    assert [(r.kind, r.target, r.fragment) for r in page.links] == [
        ("page", "my-page", "part-1")
    ]


def test_broken_link_is_marked_reported_and_still_there() -> None:
    page = render("[x](gone)")
    assert (
        '<a href="/missing/gone" class="broken-link"'
        ' title="gone: there is no such page">x</a>'
    ) in page.html
    assert page.links[0].is_broken
    assert page.links[0].line == 1
    assert page.problems[0].subject == "home:1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("![x](pic.png)", "no-file"),
        ("![x](pic)", "no-file"),
        ("[[x|pic.PNG]]", "no-file"),
        ("[x](plan.pdf)", "no-file"),
        ("[x](plan.pdf#page=3)", "no-file"),
        ("[x](release-1.2)", "no-page"),
        ("[x](gone.md)", "no-page"),
        ("[[gone]]", "no-page"),
        (f"![x]({PNG})", "no-attachment"),
    ],
)
def test_missing_file_is_not_said_to_be_a_missing_page(text: str, reason: str) -> None:
    assert [link.reason for link in render(text).links] == [reason]


def test_broken_link_without_any_address_is_no_link() -> None:
    assert '<a class="broken-link"' in render("[x](nowhere)").html


def test_link_to_a_missing_heading_still_leads_to_the_page() -> None:
    page = render("[x](a#no)", pages=["a"], headings={"a": ["yes"]})
    assert '<a href="/a.html#no" class="broken-link"' in page.html
    assert page.links[0].reason == "no-heading"


def test_external_link_tells_nobody_where_it_is_from() -> None:
    page = render("[x](https://example.org/a?b=c&d=e)")
    assert (
        '<a href="https://example.org/a?b=c&amp;d=e" class="external"'
        ' rel="nofollow noreferrer noopener" target="_blank">'
    ) in page.html


def test_license_of_a_link_is_not_shown_beside_what_we_say_of_it() -> None:
    (ref,) = parse('<a href="b" rel="license" title="t">x</a>').refs
    assert (ref.href, ref.attributes) == ("b", ' title="t"')


def test_mail_address_is_not_opened_in_a_new_window() -> None:
    assert '<a href="mailto:a@b.cc">' in render("a@b.cc").html


@pytest.mark.parametrize(
    "text", [f"![alt]({PNG})", f'<img src="{PNG}" alt="alt">', f"[[alt|{PNG}]]"]
)
def test_picture_of_the_wiki_is_shown_in_a_link_to_itself(text: str) -> None:
    page = render(text, attachments=[PNG])
    assert (
        f'<a class="picture" href="/files/{PNG}"><img src="/files/{PNG}" alt="alt"'
        ' loading="lazy" decoding="async" referrerpolicy="no-referrer"></a>'
    ) in page.html
    assert page.attachments == (PNG,)


def test_picture_without_alternative_text_gives_its_link_a_name() -> None:
    page = render(f"![]({PNG})", attachments=[PNG])
    assert 'aria-label="pic.png"' in page.html


def test_drawing_is_shown_but_never_opened() -> None:
    """An SVG that is opened runs its scripts on the site."""
    path = "uploads/a/x.svg"
    page = render(f"![a]({path}) [b]({path})", attachments=[path])
    assert page.html.count(f'href="/files/{path}"') == 1
    assert f'<a href="/files/{path}" download>b</a>' in page.html


def test_page_as_attachment_is_saved_not_opened() -> None:
    page = render("[b](uploads/a/x.HTML)", attachments=["uploads/a/x.HTML"])
    assert " download>" in page.html


@pytest.mark.parametrize(("name", "tag"), [("v.mp4", "video"), ("s.MP3", "audio")])
def test_video_and_sound_get_a_player_and_a_link(name: str, tag: str) -> None:
    path = f"uploads/a/{name}"
    page = render(f"![Talk]({path})", attachments=[path])
    assert f'<{tag} src="/files/{path}" controls preload="metadata"' in page.html
    assert f'<a href="/files/{path}" download title="Talk">Talk</a>' in page.html
    assert "media" in page.features


def test_missing_picture_leaves_a_visible_placeholder_with_its_address() -> None:
    page = render(f"![A tree]({PNG})")
    assert f'<span class="missing-media" title="{PNG}: there is no such' in page.html
    assert f'A tree <a href="/missing/{PNG}"' in page.html
    assert f"<code>{PNG}</code>" in page.html


def test_picture_that_is_a_page_is_a_placeholder() -> None:
    assert "missing-media" in render("![x](home)", pages=["home"]).html


def test_wiki_link_to_a_missing_attachment_is_a_placeholder() -> None:
    assert "missing-media" in render(f"[[{PNG}]]").html


def test_wiki_link_to_a_picture_that_is_no_file_is_taken_for_a_page() -> None:
    """As in the service, which looks for the file first."""
    page = render("[[tree.png]]")
    assert '<a href="/missing/tree.png" class="broken-link"' in page.html


def test_sizes_of_pictures_stay_when_they_are_sizes() -> None:
    page = render(
        f'<img src="{PNG}" width="50%" height="20" title="t">'
        f'<img src="{PNG}" width="1e9" height="calc(1px)">',
        attachments=[PNG],
    )
    assert ' title="t" width="50%" height="20"' in page.html
    assert "1e9" not in page.html
    assert "calc" not in page.html


def test_links_of_a_page_are_told_in_their_order() -> None:
    page = render("[a](one) ![b](two.png) [[three]] #x [d](#four)")
    assert [link.target for link in page.links] == ["one", "two.png", "three", "home"]
