"""The template of pages as one makes what its parts make apart."""

import pickle
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType
from typing import get_args

import pytest
from jinja2 import Environment, FunctionLoader
from jinja2.sandbox import SandboxedEnvironment
from msgspec.structs import replace

from tests.support.theming import (
    HERE,
    HOME,
    full_context,
    page_context,
    site_context,
    write_files,
)
from wikisync.errors import SiteError
from wikisync.site import theme_flat
from wikisync.site.context import (
    CommentContext,
    Listing,
    ListingItem,
    ListingKind,
    ListingPart,
    NavNode,
    PageRef,
    TocNode,
    VersionContext,
)
from wikisync.site.theme import (
    HISTORY_TEMPLATE,
    LIST_TEMPLATE,
    PAGE_TEMPLATE,
    PAGES_APART,
    Theme,
    load_theme,
)
from wikisync.site.theme_flat import CompiledTemplates, compiled_templates, kept_code
from wikisync.site.theme_layers import builtin_folder

TEXTS = (
    "A & B",
    "<script>x</script>",
    'Ünïcode "q"',
    "it's",
    "שלום",
    "{{ b }} {% c %}",
)
OPTIONS: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "plain": {},
    "styled": {"accent": "#112233", "fonts": "serif", "edit_link": False},
    "bare": {"show_backlinks": False, "toc_levels": 2, "footer_html": "<p>ours</p>"},
}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first page be made of the template as one."""
    monkeypatch.setattr("wikisync.site.theme.PAGES_APART", 0)


def varied(chance: random.Random) -> dict[str, object]:
    """What a build hands over for some page of all that there can be."""
    pick = chance.choice
    page = page_context(
        title=pick(TEXTS),
        summary=pick(("", *TEXTS)),
        format=pick(("markdown", "asciidoc")),
        url=pick((HERE, HOME)),
        web_url=pick((None, "https://gitlab.example.com/x?a=1&b=2")),
        edit_url=pick((None, "https://gitlab.example.com/x/edit")),
        canonical_url=pick((None, "https://docs.example.com/x")),
        tags=pick(((), (PageRef("a", "-/tags/a.html"), PageRef("<b>", HERE)))),
        changed=pick((None, "2026-02-03T04:05:06Z")),
        changed_by=pick(("", "A <b>")),
        is_seen=pick((True, False)),
        first_seen=pick((None, "2026-01-03T04:05:06Z")),
        history_url=pick((None, HOME)),
        is_home=pick((True, False)),
        features=pick((frozenset(), frozenset({"math"}), frozenset({"mermaid"}))),
        noindex=pick((True, False)),
        dir=pick(("ltr", "rtl")),
    )
    references = tuple(PageRef(text, HOME, pick(("", "W & V"))) for text in TEXTS)
    changes: dict[str, object] = {
        "page": page,
        "site": site_context(
            lang=pick(("en", "de")), description=pick(("", "A & B")), report_url=None
        ),
        "content": pick(("", "<h1>t</h1>x", "<p>x</p>")),
        "toc": pick(((), (TocNode(1, "a b", "A", (TocNode(3, "c", "<C>"),)),))),
        "sidebar": pick((None, None, "<p>side</p>")),
        "wiki_footer": pick((None, "<p>foot</p>")),
        "prev": pick((None, PageRef("folder", None), *references)),
        "next": pick((None, *references)),
        "backlinks": references[: pick((0, 1, 6))],
        "ancestors": references[: pick((0, 2))],
        "comments": pick(
            ((), (CommentContext("Ann", "2026-11-21T14:30", "<p>c</p>"),))
        ),
    }
    kept = chance.sample(sorted(changes), 6)
    context = full_context(**{name: changes[name] for name in kept})
    if chance.random() < 0.1:
        context["nav"] = NavNode("Wiki", None)
    return context


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", OPTIONS)
def test_one_template_makes_what_its_parts_make(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    chance = random.Random(7)
    pages = [(varied(chance), chance.choice((HERE, HOME))) for _ in range(150)]
    kind = "plain" if name == "plain" else "default"
    flat = load_theme(kind, options=OPTIONS[name])
    made = [flat.render(PAGE_TEMPLATE, context, at=at) for context, at in pages]
    assert set(flat._flat_pages) == {(PAGE_TEMPLATE, "en"), (PAGE_TEMPLATE, "de")}
    monkeypatch.setattr("wikisync.site.theme.PAGES_APART", 1000)
    apart = load_theme(kind, options=OPTIONS[name])
    assert made == [apart.render(PAGE_TEMPLATE, one, at=at) for one, at in pages]
    assert not apart._flat_pages


def test_long_list_is_made_of_the_template_as_one() -> None:
    items = [
        ListingItem("A & B", HERE, note="<x>", id="a", changed="2026-02-03T04:05:06Z"),
        ListingItem("b", None, "w/v", count=2, sources=(PageRef("c", HOME),) * 2),
    ] * PAGES_APART
    parts = (ListingPart(1, HERE, current=True), ListingPart(2, HOME, current=False))
    flat, apart = load_theme("default"), load_theme("default")
    for kind in get_args(ListingKind):
        shown = items[::2] if kind == "changes" else items  # these have dates
        listing = Listing(kind, "L", tuple(shown), 9, parts, ("p", "q"), "2026-01-01")
        short = replace(listing, items=(), pages=(), problems=())
        for one in (listing, short):
            context = full_context(page=page_context(), listing=one)
            apart._page_count = -len(items)
            made = apart.render(LIST_TEMPLATE, context, at=HERE)
            assert flat.render(LIST_TEMPLATE, context, at=HERE) == made
    assert set(flat._flat_pages) == {(LIST_TEMPLATE, "en")}
    assert not apart._flat_pages


@pytest.fixture
def flattened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the templates that were put together."""
    names: list[str] = []
    flat: Callable[..., CodeType] = theme_flat.flat_code

    def seen(env: object, name: str, *of_theme: object) -> CodeType:
        names.append(name)
        return flat(env, name, *of_theme)

    def kept(_: object, name: str, *source: object) -> CodeType:
        assert name.endswith((" in en", " in de"))
        made: CodeType = source[-1]()  # type: ignore[operator]
        return made

    monkeypatch.setattr(theme_flat, "flat_code", seen)
    monkeypatch.setattr(theme_flat, "kept_code", kept)
    return names


def rendered(theme: Theme, template: str = PAGE_TEMPLATE) -> str:
    return theme.render(template, full_context(), at=HERE)


@pytest.mark.usefixtures("at_once")
def test_theme_of_others_stays_apart(tmp_path: Path, flattened: list[str]) -> None:
    """What it includes may depend on a value."""
    files = {"templates/partials/toc.html": "{% include theme.name ~ '.html' %}"}
    project = write_files(tmp_path, {**files, "templates/a.html": "ours"})
    with pytest.raises(SiteError, match=r"toc\.html"):
        rendered(load_theme("default", project=project))
    assert flattened == []


def test_few_pages_are_made_of_the_parts(flattened: list[str]) -> None:
    theme = load_theme("default")
    for _ in range(PAGES_APART):
        rendered(theme)
    assert flattened == []
    rendered(theme)
    assert flattened == [PAGE_TEMPLATE]


def test_process_that_renders_puts_the_parts_together_at_once(
    flattened: list[str],
) -> None:
    """It is started for many pages."""
    rendered(pickle.loads(pickle.dumps(load_theme("default"))))
    assert flattened == [PAGE_TEMPLATE]


@pytest.mark.usefixtures("at_once")
def test_error_names_the_template_and_the_line() -> None:
    theme = load_theme("default")
    context = full_context(page=page_context(url=None))
    with pytest.raises(SiteError, match=r"default/templates/[a-z/]+\.html:\d+: "):
        theme.render(PAGE_TEMPLATE, {**context, "prev": "no page"}, at=HERE)


@pytest.mark.usefixtures("at_once")
def test_versions_are_shown_alike_by_one_template_and_its_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = VersionContext(
        kind="renamed",
        changed="2026-01-02T03:04:05Z",
        by="A & <b>",
        was="a/b",
        commit="0123abcd",
        added=3,
        removed=0,
        html="<ins>x &amp; y</ins>",
        is_cut=True,
    )
    rows = [version, replace(version, kind="created", by="", commit="", added=0)]
    chance = random.Random(7)
    pages = [
        {**varied(chance), "versions": rows[:count], "since": since}
        for count in range(3)
        for since in (None, "2026-01-01T00:00:00Z")
    ]
    flat = load_theme("default")
    made = [flat.render(HISTORY_TEMPLATE, context, at=HERE) for context in pages]
    assert flat._flat_pages
    assert "<ins>x &amp; y</ins>" in made[-1]
    monkeypatch.setattr("wikisync.site.theme.PAGES_APART", 1000)
    apart = load_theme("default")
    assert made == [apart.render(HISTORY_TEMPLATE, one, at=HERE) for one in pages]


# Code that is kept --------------------------------------------------------------------

OUR_FOLDER = builtin_folder() / "default" / "templates"


def texts_of(
    kept: CompiledTemplates, folder: Path = Path("/theme"), **sources: str
) -> str:
    """All templates of a theme that was just saved, one after the other."""

    def load(name: str) -> tuple[str, str, Callable[[], bool]]:
        return sources[name], str(folder / name), lambda: True

    environment = Environment(loader=FunctionLoader(load), bytecode_cache=kept)
    return " ".join(environment.get_template(name).render() for name in sources)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of templates that Jinja compiled so far."""
    files = []
    compile_ = Environment._compile

    def counted(self: Environment, source: str, filename: str) -> object:
        files.append(filename)
        return compile_(self, source, filename)

    monkeypatch.setattr(Environment, "_compile", counted)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return files


def test_a_template_that_is_saved_again_is_compiled_again(
    tmp_path: Path, compiled: list[str]
) -> None:
    kept = CompiledTemplates(str(tmp_path))
    assert texts_of(kept, OUR_FOLDER, a="one", b="two") == "one two"
    assert texts_of(kept, OUR_FOLDER, a="three", b="two") == "three two"
    assert texts_of(kept, OUR_FOLDER, a="one", b="two") == "one two"
    assert len(compiled) == 4


def test_a_sandbox_has_code_of_its_own(tmp_path: Path, compiled: list[str]) -> None:
    for kind in (Environment, SandboxedEnvironment):
        pattern = compiled_templates(kind).pattern
        texts_of(CompiledTemplates(str(tmp_path), pattern), OUR_FOLDER, a="one")
    assert len(compiled) == 2


def test_another_process_does_not_compile_our_templates(
    tmp_path: Path, compiled: list[str]
) -> None:
    texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one", b="two")
    compiled.clear()
    assert texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one") == "one"
    assert not compiled
    text = texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="three", b="two")
    assert text == "three two"
    assert compiled == [str(OUR_FOLDER / "a")]


def test_another_program_compiles_our_templates_again(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may set other options of Jinja."""
    texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    monkeypatch.setattr(theme_flat, "program_fingerprint", lambda: b"other")
    texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    assert len(compiled) == 2


def test_the_code_of_a_persons_template_is_never_read_from_the_disk(
    tmp_path: Path, compiled: list[str]
) -> None:
    theme = tmp_path / "theme"
    for _ in range(2):
        texts_of(CompiledTemplates(str(tmp_path)), theme, a="one")
    assert len(compiled) == 2
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_where_python_shall_not_write(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    assert len(compiled) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"damaged", None])
def test_code_that_is_damaged_or_in_no_folder_is_compiled(
    tmp_path: Path, compiled: list[str], content: bytes | None
) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    texts_of(CompiledTemplates(str(folder)), OUR_FOLDER, a="one")
    (code,) = folder.iterdir()
    if content is None:
        code.unlink()
        folder.rmdir()
        folder.touch()
    else:
        code.write_bytes(content)
    assert texts_of(CompiledTemplates(str(folder)), OUR_FOLDER, a="one") == "one"
    assert len(compiled) == 2


def test_code_that_was_cut_is_compiled(tmp_path: Path, compiled: list[str]) -> None:
    texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    (code,) = tmp_path.iterdir()
    whole = code.read_bytes()
    ends = range(0, len(whole), 5)
    for end in ends:
        code.write_bytes(whole[:end])
        assert texts_of(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one") == "one"
    assert len(compiled) == 1 + len(ends)


def test_code_lies_where_python_keeps_that_of_the_package() -> None:
    folder = Path(compiled_templates(Environment).directory)
    assert folder == Path(theme_flat.__spec__.cached or "").parent


def test_code_that_was_made_of_a_source_is_kept_until_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    made: list[str] = []

    def shown(source: str, place: Path) -> str:
        def make() -> CodeType:
            made.append(source)
            return compile(repr(source), "text", "eval")

        env = Environment(bytecode_cache=CompiledTemplates(str(tmp_path)))
        return str(eval(kept_code(env, "page.html in en", place, source, make)))

    ours, others = OUR_FOLDER / "page.html", tmp_path / "page.html"
    assert [shown(one, ours) for one in ("a", "a", "b", "a")] == ["a", "a", "b", "a"]
    assert made == ["a", "b", "a"]
    assert [shown("c", others), shown("c", others)] == ["c", "c"]
    assert made[3:] == ["c", "c"], "to load what others may write is to trust them"
