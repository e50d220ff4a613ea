"""Compiled templates: kept by source, so that no page is made of an old one."""

from __future__ import annotations

import pytest
from jinja2 import DictLoader, Environment
from jinja2.sandbox import SandboxedEnvironment

from wikisync.site import theme_compiled
from wikisync.site.theme_compiled import CompiledTemplates, compiled_templates


def rendered(kept: CompiledTemplates, **sources: str) -> str:
    """All templates of a theme that was just saved, one after the other."""
    environment = Environment(loader=DictLoader(sources), bytecode_cache=kept)
    return " ".join(environment.get_template(name).render() for name in sources)


def test_a_template_that_is_saved_again_is_compiled_again() -> None:
    kept = CompiledTemplates()
    assert rendered(kept, a="one", b="two") == "one two"
    assert rendered(kept, a="three", b="two") == "three two"
    assert rendered(kept, a="one", b="two") == "one two"


def test_a_template_that_is_the_same_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = CompiledTemplates()
    rendered(kept, a="one", b="two")
    compiled = []
    compile_ = Environment._compile

    def counted(self: Environment, source: str, filename: str) -> object:
        compiled.append(source)
        return compile_(self, source, filename)

    monkeypatch.setattr(Environment, "_compile", counted)
    rendered(kept, a="three", b="two")
    assert len(compiled) == 1


def test_the_oldest_goes_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(theme_compiled, "TEMPLATES_MAX", 2)
    kept = CompiledTemplates()
    assert rendered(kept, a="1", b="2", c="3") == "1 2 3"
    assert len(kept._kept) == 2


def test_a_sandbox_has_code_of_its_own() -> None:
    assert compiled_templates(Environment) is compiled_templates(Environment)
    assert compiled_templates(SandboxedEnvironment) is not compiled_templates(
        Environment
    )
