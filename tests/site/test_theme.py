"""Look-up order, blocks, filters, options and errors of themes."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.theming import (
    HERE,
    HOME,
    full_context,
    page_context,
    site_context,
    write_files,
    write_theme,
)
from wikisync.errors import SiteError
from wikisync.site.context import (
    GroupContext,
    Listing,
    ListingItem,
    PageRef,
    SiteContext,
    TocNode,
    WikiContext,
)
from wikisync.site.theme import Theme, load_theme
from wikisync.site.theme_layers import builtin_folder, theme_names

BLOCKS = (
    *("site_meta", "htmltitle", "styles", "head_extra", "extrahead", "announce"),
    *("header", "tabs", "site_nav", "container", "breadcrumbs", "content"),
    *("article_footer", "backlinks", "pager", "toc", "footer", "scripts"),
)
TEMPLATES = ("page", "wiki", "index", "list", "search", "404")
CSS_BYTES_MAX = 16 * 1024
DOCUMENT_CSS_BYTES_MAX = 5 * 1024
JS_BYTES_MAX = 12 * 1024
FIND_JS_BYTES_MAX = 20 * 1024
"""Only a page with a query loads it."""
DIAGRAM_JS_BYTES_MAX = 1024
CHROME_BYTES_MAX = 15 * 1024


def render(theme: Theme, template: str = "page.html", **changes: object) -> str:
    return theme.render(template, full_context(**changes), at=HERE)


def render_text(folder: Path, text: str, **changes: object) -> str:
    """A template of one line in a project's folder, rendered for a page."""
    project = write_files(folder, {"templates/try.html": text})
    return render(load_theme("default", project=project), "try.html", **changes)


# -- layers ------------------------------------------------------------------


def test_project_wins_over_theme_over_default(tmp_path: Path) -> None:
    theme = write_theme(
        tmp_path / "child",
        {
            "templates/page.html": "theme {% include 'x.html' %}",
            "templates/x.html": "theme x",
        },
    )
    project = write_files(tmp_path / "project", {"templates/x.html": "project x"})
    assert render(load_theme(str(theme))) == "theme theme x"
    assert render(load_theme(str(theme), project=project)) == "theme project x"


def test_template_extends_the_one_that_it_replaces(tmp_path: Path) -> None:
    """A project, a theme and the default each add to the same block."""
    block = (
        "{{% extends '{}' %}}{{% block footer %}}{} {{{{ super() }}}}{{% endblock %}}"
    )
    theme = write_theme(
        tmp_path / "child",
        {"templates/base.html": block.format("!default/base.html", "CHILD")},
    )
    project = write_files(
        tmp_path / "project",
        {"templates/base.html": block.format("!theme/base.html", "PROJECT")},
    )
    page = render(load_theme(str(theme), project=project))
    assert re.search(r'PROJECT\s+CHILD\s+<footer class="bottom">', page)


def test_theme_extends_a_theme_beside_it(tmp_path: Path) -> None:
    write_theme(tmp_path / "parent", {"templates/x.html": "parent x"})
    child = write_theme(tmp_path / "child", {}, 'extends = "parent"\n')
    theme = load_theme(str(child))
    assert render(theme, "x.html") == "parent x"
    assert theme.find("base.html") == builtin_folder() / "default/templates/base.html"


def test_strings_and_icons_are_replaced_one_by_one(tmp_path: Path) -> None:
    project = write_files(
        tmp_path,
        {
            "i18n/en.toml": 'search = "Find"',
            "icons/search.svg": "<svg id='mine'/>",
            "templates/try.html": "{{ t('search') }} {{ t('menu') }} "
            "{{ inline_svg('search') }}",
        },
    )
    text = render(load_theme("default", project=project), "try.html")
    assert text == "Find Menu <svg id='mine'/>"


@pytest.mark.parametrize("name", theme_names())
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_block_of_every_template_can_be_filled(
    name: str, template: str, tmp_path: Path
) -> None:
    """The blocks are the contract: a project that fills one sees its text."""
    filled = "".join(
        f"{{% block {block} %}}[mine: {block}]{{{{ super() }}}}{{% endblock %}}"
        for block in BLOCKS
    )
    extended = f"{{% extends '!theme/{template}.html' %}}{filled}"
    project = write_files(tmp_path, {f"templates/{template}.html": extended})
    listing = Listing("all", "All", (), 0)
    page = render(
        load_theme(name, project=project), f"{template}.html", listing=listing
    )
    assert sorted(re.findall(r"\[mine: (\w+)\]", page)) == sorted(BLOCKS)


# -- what templates can use --------------------------------------------------


def test_links_are_relative_to_the_page_rendered() -> None:
    """A filter that Jinja folds at compile time would keep the first page's link."""
    theme = load_theme("default")
    page = render(theme)
    top = theme.render("404.html", full_context(), at="404.html")
    assert 'href="../../../../../-/assets/theme.' in page
    assert 'href="../c%20%26%20d.html"' in page
    assert 'href="-/assets/theme.' in top


def test_not_found_page_has_links_from_the_top_of_the_host() -> None:
    """It is answered at any address, where a relative link would lead astray."""
    site = site_context(url="https://pages.example.com/docs/")
    page = load_theme("default").render(
        "404.html", full_context(site=site), at="404.html"
    )
    assert 'href="/docs/index.html"' in page
    assert not re.search(r'(href|src)="(\.\./|-/)', page)


def test_text_is_escaped_and_content_is_not() -> None:
    page = render(load_theme("default"))
    assert "<title>Some &lt;page&gt; · Sample &amp; more</title>" in page
    assert "<h2 id='one'>One</h2>" in page


@pytest.mark.parametrize(
    ("expression", "lang", "expected"),
    [
        ("1 | plural('pages')", "en", "1 page"),
        ("2143 | plural('pages')", "en", "2,143 pages"),
        ("2143 | plural('pages')", "de", "2.143 Seiten"),
        ("'https://a.example/x y' | url", "en", "https://a.example/x y"),
        ("'2026-03-09' | date", "en", "9 March 2026"),
        ("'2026-03-09T10:00:00Z' | date", "de-AT", "9. März 2026"),
        ("t('search')", "xx", "Search"),
        ("markdown('**x**<script>y</script>')", "en", "<p><strong>x</strong></p>"),
        ("root", "en", "../../../../../"),
        ("api", "en", "1"),
    ],
)
def test_filters_and_functions(
    expression: str, lang: str, expected: str, tmp_path: Path
) -> None:
    site = site_context(lang=lang)
    text = render_text(tmp_path, f"{{{{ {expression} }}}}", site=site)
    assert text.strip() == expected


def test_a_text_of_a_theme_has_no_attachments_to_link_to(tmp_path: Path) -> None:
    template = "{{ markdown('[plan](uploads/plan.pdf)') }}"
    html = render_text(tmp_path, template, site=site_context())
    assert 'class="broken-link"' in html
    assert "href" not in html


def test_asset_is_named_by_its_content(tmp_path: Path) -> None:
    theme = load_theme("default", project=write_files(tmp_path, {"static/a/b.js": "1"}))
    other = load_theme("default", project=write_files(tmp_path, {"static/a/b.js": "2"}))
    assert theme.asset_path("a/b.js") != other.asset_path("a/b.js")
    assert theme.assets()[theme.asset_path("a/b.js")] == b"1"
    assert re.fullmatch(r"-/assets/a/b\.[0-9a-f]{10}\.js", theme.asset_path("a/b.js"))


def test_style_sheet_finds_the_pictures_of_the_theme(tmp_path: Path) -> None:
    files = {
        "static/pics/a.svg": "<svg/>",
        "static/my.css": "a {background: url('pics/a.svg')} b {c: url(data:x)}",
    }
    theme = load_theme("default", project=write_files(tmp_path, files))
    sheet = theme.assets()[theme.asset_path("my.css")].decode()
    picture = theme.asset_path("pics/a.svg").removeprefix("-/assets/")
    assert sheet == f'a {{background: url("{picture}")}} b {{c: url(data:x)}}'


# -- options -----------------------------------------------------------------


def test_options_reach_the_page_and_its_content_policy() -> None:
    theme = load_theme("default", options={"accent": "#123456", "max_width": 90})
    page = render(theme)
    dark = "color-mix(in srgb,#123456 50%,#fff)"
    style = f":root{{--max:90rem;--link:light-dark(#123456,{dark});}}"
    assert f"<style>{style}</style>" in page
    both = {"accent": "#123456", "accent_dark": "#abcdef"}
    style = "--link:light-dark(#123456,#abcdef);"
    assert style in render(load_theme("default", options=both))
    policy = re.search(r'content="(default-src[^"]*)"', page)
    assert policy is not None
    assert policy[1].replace("&#39;", "'").count("'sha256-") == 2


def test_page_has_no_inline_style_without_options() -> None:
    assert "<style>" not in render(load_theme("default"))


def test_extra_files_are_linked_after_those_of_the_theme(tmp_path: Path) -> None:
    files = {"static/my.css": "a{}", "static/my.js": "1"}
    theme = load_theme(
        "default",
        project=write_files(tmp_path, files),
        options={"extra_css": ["my.css"], "extra_js": ["my.js"]},
    )
    page = render(theme)
    assert page.index("theme.css"[:6]) < page.index("my.")
    assert page.index("/search.") < page.rindex("/my.")


def test_blocked_media_are_blocked_by_the_content_policy() -> None:
    closed = load_theme("default", options={"external_media": False})
    assert "img-src 'self' data:;" in render(closed)
    assert "img-src 'self' data: http: https:;" in render(load_theme("default"))


def test_switched_off_parts_are_not_there() -> None:
    page = page_context(
        web_url="https://a.example/", edit_url="https://a.example/edit", source_url="x"
    )
    on = render(load_theme("default"), page=page)
    names = ("show_backlinks", "edit_link", "show_source", "service_link")
    options = dict.fromkeys(names, False)
    off = render(load_theme("default", options=options), page=page)
    texts = ("Pages that link", "Edit this page", "Source text", "View in the wiki")
    for text in texts:
        assert text in on
        assert text not in off


# -- errors ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message", "hint"),
    [
        ("defualt", {}, "no theme 'defualt'", "'default'"),
        ("../default", {}, "no theme at ../default", "theme.toml"),
        ("default", {"acent": "#fff"}, "no option 'acent'", "'accent'"),
        ("default", {"accent": "blue"}, "must be a colour", ""),
        ("default", {"max_width": "80"}, "must be an integer", ""),
        ("default", {"max_width": True}, "must be an integer", ""),
        ("default", {"max_width": 9}, "must be at least 48", ""),
        ("default", {"fonts": "serfi"}, "must be one of", "'serif'"),
        ("default", {"extra_css": "a"}, 'must be a list of strings, such as ["a', ""),
        ("default", {"extra_css": ["a.css"]}, "names 'a.css'", "theme/static/a.css"),
    ],
)
def test_wrong_name_or_option_says_what_is_right(
    name: str, options: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(SiteError) as caught:
        load_theme(name, options=options)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n{{ pgae.title }}", "'pgae' is undefined"),
        ("\n{{ page.titel }}", "no value 'titel': did you mean 'title'?"),
        ("\n{% if %}", "Expected an expression"),
        ("\n{{ 1 + 'x' }}", "unsupported operand"),
        ("\n{{ asset('them.css') }}", "did you mean 'theme.css'?"),
        ("\n{{ t('serach') }}", "did you mean 'search'?"),
        ("\n{{ inline_svg('serach') }}", "did you mean 'search.svg'?"),
        (
            "\n{% include 'pag.html' %}",
            "no template 'pag.html': did you mean 'page.html'?",
        ),
        ("\n{% include '!theme/pag.html' %}", "did you mean '!theme/page.html'?"),
        ("\n{{ 'x' | date }}", "Invalid isoformat string"),
    ],
)
def test_wrong_template_is_named_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SiteError) as caught:
        render_text(tmp_path, text)
    assert f"{tmp_path}/templates/try.html:2: " in caught.value.message
    assert message in caught.value.message


def test_template_that_extends_itself_is_an_error(tmp_path: Path) -> None:
    project = write_files(
        tmp_path, {"templates/page.html": "{% extends 'page.html' %}"}
    )
    with pytest.raises(SiteError, match=r"page\.html"):
        render(load_theme("default", project=project))


@pytest.mark.parametrize(
    "attack",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ site.wikis.__class__ }}",
        "{{ page.meta.update({'a': 1}) }}",
        "{{ asset.__globals__ }}",
    ],
)
def test_templates_that_are_not_ours_run_in_a_sandbox(
    attack: str, tmp_path: Path
) -> None:
    with pytest.raises(SiteError):
        render_text(tmp_path, attack)


def test_file_that_leads_out_of_the_theme_is_refused(tmp_path: Path) -> None:
    """It would be published."""
    (tmp_path / "secret").write_text("s3cret")
    project = write_files(tmp_path / "project", {"static/a.txt": "a"})
    (project / "static" / "b.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(SiteError, match=r"b\.txt is a link to outside its folder"):
        load_theme("default", project=project)


def test_folder_that_leads_out_of_the_theme_is_refused(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"secret": "s3cret"})
    project = write_files(tmp_path / "project", {"templates/a.txt": "a"})
    (project / "static").symlink_to(outside)
    with pytest.raises(SiteError, match="secret is a link to outside its folder"):
        load_theme("default", project=project)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("i18n/en.toml", b"search = ", "not TOML"),
        ("i18n/en.toml", b"search = 1", "search must be a string"),
        ("i18n/en.toml", b"\xff", "not UTF-8"),
        ("static/a.css", b"\xff", "not UTF-8"),
    ],
)
def test_broken_theme_file_is_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(SiteError) as caught:
        load_theme("default", project=tmp_path)
    assert message in caught.value.message
    assert Path(name).name in caught.value.message


# -- fingerprint -------------------------------------------------------------


def test_fingerprint_changes_with_files_and_options_alone(tmp_path: Path) -> None:
    plain = load_theme("default").fingerprint
    project = write_files(tmp_path, {"templates/partials/footer.html": "x"})
    assert load_theme("default").fingerprint == plain
    assert load_theme("default", project=project).fingerprint != plain
    assert load_theme("default", options={"max_width": 90}).fingerprint != plain


# -- the default theme -------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "plain"])
def test_picture_with_text_around_it_ends_above_what_follows_the_page(
    name: str,
) -> None:
    sheets = [
        content.decode()
        for path, content in load_theme(name).assets().items()
        if path.endswith(".css")
    ]
    end = 'article::after {content: ""; display: block; clear: both}'
    assert any(end in sheet for sheet in sheets)
    # with it each block of a long page costs as many steps as there are blocks
    assert not any("article ~ *" in sheet for sheet in sheets)
    for side in ("left", "right"):
        assert any(f".float-{side} {{float: {side};" in sheet for sheet in sheets)


def test_default_theme_keeps_its_budget() -> None:
    assets = load_theme("default").assets()
    sizes: dict[str, int] = {".css": 0, ".js": 0, ".svg": 0}
    for path, content in assets.items():
        sizes[Path(path).suffix] += len(content)
    own = [len(css) for path, css in assets.items() if "documents" in path]
    assert sum(own) <= DOCUMENT_CSS_BYTES_MAX
    assert sizes[".css"] - sum(own) <= CSS_BYTES_MAX
    drawn = [len(js) for path, js in assets.items() if "diagrams" in path]
    assert sum(drawn) <= DIAGRAM_JS_BYTES_MAX
    found = sum(len(js) for path, js in assets.items() if "/find." in path)
    assert 0 < found <= FIND_JS_BYTES_MAX
    assert sizes[".js"] - sum(drawn) - found <= JS_BYTES_MAX
    assert len(render(load_theme("default")).encode()) <= CHROME_BYTES_MAX


@pytest.mark.parametrize("name", theme_names())
def test_nothing_of_a_theme_names_another_host(name: str) -> None:
    theme = load_theme(name)
    texts = [render(theme), *(content.decode() for content in theme.assets().values())]
    found = {url for text in texts for url in re.findall(r"https?://[^\s\"']+", text)}
    assert found <= {"http://www.w3.org/2000/svg"}


def test_every_language_has_every_string() -> None:
    folder = builtin_folder() / "default" / "i18n"
    keys = {
        path.stem: set(tomllib.loads(path.read_text(encoding="utf-8")))
        for path in folder.glob("*.toml")
    }
    assert {lang: keys["en"] ^ known for lang, known in keys.items()} == {
        lang: set() for lang in keys
    }


def test_tree_marks_the_page_and_leads_on_from_closed_folders() -> None:
    page = render(load_theme("default"))
    assert '<a href="b.html" aria-current="page">b</a>' in page
    listed = "../../../../../-/all/docs/handbook"
    assert f'<a class="closed" href="{listed}.html#c%20d.html">closed folder' in page
    assert f'<a class="more" href="{listed}.html#a.html">Pages before</a>' in page
    assert f'<a class="more" href="{listed}-2.html#e.html">More pages</a>' in page
    assert "<summary><a" not in page


def test_page_has_one_title_whether_or_not_its_text_brings_one() -> None:
    theme = load_theme("default")
    own = (TocNode(1, "own", "Own", (TocNode(2, "sub", "Sub"),)),)
    brought = render(theme, content="<h1 id='own'>Own</h1>", toc=own)
    assert brought.count("<h1") == 1
    assert "<h1>Some &lt;page&gt;</h1>" in render(theme)
    assert '<a href="#sub">Sub</a>' in brought
    assert '<a href="#own">' not in brought
    several = (TocNode(1, "own", "Own"), TocNode(1, "two", "Two"))
    page = render(theme, content="\n<h1 id='own'>Own</h1><h1>Two</h1>", toc=several)
    assert page.count("<h1") == 2
    assert '<a href="#two">Two</a>' in page
    assert '<a href="#own">' not in page, "the title is not in its own contents"


def test_list_of_wanted_pages_names_who_wants_them() -> None:
    item = ListingItem(
        "missing", None, count=2, sources=(PageRef("a", HOME), PageRef("b", HERE))
    )
    listing = Listing("wanted", "Wanted pages", (item,), 1, problems=("docs: <odd>",))
    page = render(load_theme("default"), "list.html", listing=listing)
    assert "<span>missing</span>" in page
    assert "docs: &lt;odd&gt;" in page
    assert re.search(r'<a href="../index.html">a</a>,\s*<a href="b.html">b</a>', page)


def test_landing_page_shows_groups_in_groups() -> None:
    wiki = full_context()["wiki"]
    assert isinstance(wiki, WikiContext)
    inner = GroupContext("inner", "docs/inner", (wiki,))
    groups = (GroupContext("outer", "docs", (), (inner,)),)
    page = load_theme("default").render(
        "index.html",
        full_context(groups=groups, wiki=None, nav=None, page=None),
        at="index.html",
    )
    assert '<h2 id="docs">outer</h2>' in page
    assert '<h3 id="docs/inner">inner</h3>' in page
    assert "1,234 pages" in page


def test_landing_page_leads_to_the_wiki_that_it_starts_with() -> None:
    context = full_context(wiki=None, nav=None, page=None)
    site = context["site"]
    assert isinstance(site, SiteContext)
    wiki = site.wikis[0]
    for start in (wiki.full_path, "docs/none", ""):
        theme = load_theme("default", options={"start": start})
        page = theme.render("index.html", context, at="index.html")
        button = f'<a class="button" href="{wiki.url}">'
        assert (button in page) is (start == wiki.full_path)
