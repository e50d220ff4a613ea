"""Compiled templates: kept by source, so that no page is made of an old one."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest
from jinja2 import Environment, FunctionLoader
from jinja2.sandbox import SandboxedEnvironment

from wikisync.site import theme_flat
from wikisync.site.theme_flat import CompiledTemplates, compiled_templates, kept_code
from wikisync.site.theme_layers import builtin_folder

OUR_FOLDER = builtin_folder() / "default" / "templates"


def rendered(
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
    assert rendered(kept, OUR_FOLDER, a="one", b="two") == "one two"
    assert rendered(kept, OUR_FOLDER, a="three", b="two") == "three two"
    assert rendered(kept, OUR_FOLDER, a="one", b="two") == "one two"
    assert len(compiled) == 4


def test_a_sandbox_has_code_of_its_own(tmp_path: Path, compiled: list[str]) -> None:
    for kind in (Environment, SandboxedEnvironment):
        pattern = compiled_templates(kind).pattern
        rendered(CompiledTemplates(str(tmp_path), pattern), OUR_FOLDER, a="one")
    assert len(compiled) == 2


def test_another_process_does_not_compile_our_templates(
    tmp_path: Path, compiled: list[str]
) -> None:
    rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one", b="two")
    compiled.clear()
    assert rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one") == "one"
    assert not compiled
    text = rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="three", b="two")
    assert text == "three two"
    assert compiled == [str(OUR_FOLDER / "a")]


def test_another_program_compiles_our_templates_again(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may set other options of Jinja."""
    rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    monkeypatch.setattr(theme_flat, "program_fingerprint", lambda: b"other")
    rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    assert len(compiled) == 2


def test_the_code_of_a_persons_template_is_never_read_from_the_disk(
    tmp_path: Path, compiled: list[str]
) -> None:
    theme = tmp_path / "theme"
    for _ in range(2):
        rendered(CompiledTemplates(str(tmp_path)), theme, a="one")
    assert len(compiled) == 2
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_where_python_shall_not_write(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    assert len(compiled) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"damaged", None])
def test_code_that_is_damaged_or_in_no_folder_is_compiled(
    tmp_path: Path, compiled: list[str], content: bytes | None
) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    rendered(CompiledTemplates(str(folder)), OUR_FOLDER, a="one")
    (code,) = folder.iterdir()
    if content is None:
        code.unlink()
        folder.rmdir()
        folder.touch()
    else:
        code.write_bytes(content)
    assert rendered(CompiledTemplates(str(folder)), OUR_FOLDER, a="one") == "one"
    assert len(compiled) == 2


def test_code_that_was_cut_is_compiled(tmp_path: Path, compiled: list[str]) -> None:
    rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one")
    (code,) = tmp_path.iterdir()
    whole = code.read_bytes()
    ends = range(0, len(whole), 5)
    for end in ends:
        code.write_bytes(whole[:end])
        assert rendered(CompiledTemplates(str(tmp_path)), OUR_FOLDER, a="one") == "one"
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
