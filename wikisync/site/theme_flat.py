"""The code of templates of ours: kept, and of each template all its parts as one.

To load code is to trust whoever could write it.  So code is kept only where Python
keeps that of this package, never in the cache of a build, which may come from
another machine; and only that of templates that came with wikisync.

A page is made of a dozen templates, and Jinja begins each of them with a context of
its own.  Put together before they are compiled, with all that follows from the theme
computed, they make the same text in a third of the time.  Templates of others may do
what cannot be put together, such as to choose what they include by a value: where one
is in the theme, all stay apart.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import Environment, nodes
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.compiler import CodeGenerator, Frame, MacroRef
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from wikisync.site.addresses import relative_url
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.theme_functions import SHARED_TEXTS_MAX, Texts
from wikisync.site.theme_layers import builtin_folder

OURS = "ours-"
"""The keys of templates that came with wikisync begin so."""
SPECIAL = re.compile("[&<>\"']")
LINKS = "links of the directory"
SHOWN = "escaped texts"
"""Names by which a page finds its ``Remembered``; no template can write them."""


class CompiledTemplates(FileSystemBytecodeCache):
    """Code by the name and file of its template, with the hash of its source."""

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The key of a template, which shows whether it came with wikisync."""
        key = super().get_cache_key(name, filename)
        is_ours = filename and Path(filename).is_relative_to(builtin_folder())
        return OURS + key if is_ours else key

    def get_source_checksum(self, source: str) -> str:
        """Another one with another source or program, which sets Jinja's options."""
        return super().get_source_checksum(program_fingerprint().hex() + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in what was compiled from the same source of ours."""
        if bucket.key.startswith(OURS):
            # the last two are of a file that was cut
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled of ours."""
        if bucket.key.startswith(OURS) and not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):  # as Python does: it is not needed
                super().dump_bytecode(bucket)


def kept_code(
    env: Environment, name: str, file: Path, source: str, make: Callable[[], CodeType]
) -> CodeType:
    """Code that was made of a source, or is made now and kept as that of a template."""
    kept = env.bytecode_cache
    assert kept is not None
    bucket = kept.get_bucket(env, name, str(file), source)
    if bucket.code is None:
        bucket.code = make()
        kept.set_bucket(bucket)
    return bucket.code


def compiled_templates(kind: type[Environment]) -> CompiledTemplates:
    """Those of one kind of environment: another one makes other code."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    tag = sys.implementation.cache_tag
    return CompiledTemplates(str(folder), f"template-{kind.__name__}-%s.{tag}.pyc")


def flat_code(
    env: Environment, name: str, theme: Texts, options: Mapping[str, object], lang: str
) -> CodeType:
    """The code of a template with all that it is made of, whose names are constants.

    It has nothing but blocks where it extends another one.
    """
    chain = [_parsed(env, name)]
    while extends := [*chain[-1].find_all(nodes.Extends)]:
        chain.append(_parsed(env, _constant(extends[0].template)))
    blocks: dict[str, list[nodes.Block]] = {}
    for tree in chain:
        for block in tree.find_all(nodes.Block):
            blocks.setdefault(block.name, []).append(block)
    flattening = _Flattening(env, blocks, theme, options, lang)
    tree = flattening.visit(chain[-1]).set_environment(env)
    source = io.StringIO()
    generator = _PageCode(env, name, None, source)
    generator.macros = {one.name: len(one.args) for one in tree.find_all(nodes.Macro)}
    generator.visit(tree)
    return compile(source.getvalue(), f"<{name} and its parts>", "exec")


class FlatTemplate:
    """A template that is made of others."""

    def __init__(self, env: Environment, code: CodeType) -> None:
        self._template = env.template_class.from_code(env, code, env.globals)
        self._shown = Remembered(escaped)
        self._links = "", links_from("")

    def render(self, values: Mapping[str, Any]) -> str:
        """A page; the links of its directory are kept for the next one."""
        at = str(values["at"])
        directory, links = self._links
        if directory != (directory := at.rpartition("/")[0]):
            links = links_from(at)
            self._links = directory, links
        return self._template.render({**values, LINKS: links, SHOWN: self._shown})


class Remembered(dict[str, str]):
    """HTML of texts, each made once."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> str:
        if len(self) >= SHARED_TEXTS_MAX:
            self.clear()
        made = self[text] = self._make(text)
        return made


def links_from(at: str) -> Remembered:
    """Links to output paths, as HTML, from the pages beside that at a path."""
    # what is percent-encoded needs no other escape
    return Remembered(
        lambda target: escaped(target) if "://" in target else relative_url(at, target)
    )


def escaped(text: str) -> str:
    """Text as HTML, as Jinja escapes it."""
    return str(escape(text)) if SPECIAL.search(text) else text


class _PageCode(CodeGenerator):
    """Code of a template of ours, with Python's own attributes and calls.

    What fails in it fails in Jinja's as well, which is asked then.
    """

    macros: Mapping[str, int]
    """Name of each macro to the number of its parameters."""
    _safe: nodes.Node | None = None

    def write_commons(self) -> None:
        """Begin the function that renders."""
        super().write_commons()
        self.writeline(f"links, shown = resolve({LINKS!r}), resolve({SHOWN!r})")

    def _output_child_pre(self, node: nodes.Expr, *_: object) -> None:
        is_safe = _is_plain_link(node) or _called(node) in self.macros
        self._safe = node if is_safe else None
        self.write("" if is_safe else "(shown[value] if type(value := ")

    def _output_child_post(self, node: nodes.Expr, *_: object) -> None:
        self.write("" if node is self._safe else ") is str else escape(value))")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 - of Jinja
        """A field of a value."""
        self.visit(node.node, frame)
        self.write(f".{node.attr}")

    def visit_Filter(self, node: nodes.Filter, frame: Frame) -> None:  # noqa: N802 - of Jinja
        """A filter; links are those of the directory."""
        if not _is_plain_link(node):
            super().visit_Filter(node, frame)
            return
        assert node.node is not None
        is_safe = node is self._safe
        self.write("links[" if is_safe else "Markup(links[")
        self.visit(node.node, frame)
        self.write("]" if is_safe else "])")

    def macro_def(self, macro_ref: MacroRef, frame: Frame) -> None:  # noqa: ARG002 - of Jinja
        """A macro, which is its function: all arguments come by position."""
        self.write("macro")

    def visit_Call(  # noqa: N802 - of Jinja
        self, node: nodes.Call, frame: Frame, forward_caller: bool = False
    ) -> None:
        """A call of a macro, of a function of themes, or of a method."""
        assert node.dyn_args is node.dyn_kwargs is None, "no template of ours has it"
        name = _called(node)
        arguments: list[str | nodes.Node] = [*node.args, *node.kwargs]
        if name in self.macros:
            assert not node.kwargs, "a macro takes its arguments by position"
            arguments += ["missing"] * (self.macros[name] - len(arguments))
        elif hasattr(self.environment.globals.get(name), "jinja_pass_arg"):
            arguments.insert(0, "context")
        is_text = name in self.macros and node is not self._safe
        self.write("Markup(" if is_text else "")
        self.visit(node.node, frame)
        self.write("(")
        for one in [*arguments, *(["caller=caller"] if forward_caller else [])]:
            self.write(one) if isinstance(one, str) else self.visit(one, frame)
            self.write(", ")
        self.write("))" if is_text else ")")


class _Flattening(NodeTransformer):
    """Puts other templates where a tree names them."""

    def __init__(
        self,
        env: Environment,
        blocks: dict[str, list[nodes.Block]],
        theme: Texts,
        options: Mapping[str, object],
        lang: str,
    ) -> None:
        self._env = env
        self._blocks = blocks
        self._options = options
        self._constants: Mapping[str, Callable[[str], nodes.Expr]] = {
            "t": lambda key: nodes.Const(theme.text(key, lang)),
            "inline_svg": lambda name: nodes.Const(Markup(theme.icon(name))),  # noqa: S704 - a file of the theme
            "asset": lambda name: nodes.Filter(
                nodes.Const(theme.asset_path(name)), "url", [], [], None, None
            ),
        }
        """Functions by their names, of which an argument tells what they give."""
        self._replaced: list[list[nodes.Block]] = []

    def visit_Include(self, node: nodes.Include) -> nodes.Node:  # noqa: N802 - of Jinja
        """The template that is included."""
        tree = self.visit(_parsed(self._env, _constant(node.template)))
        return nodes.Scope(tree.body, lineno=node.lineno)

    def visit_FromImport(self, node: nodes.FromImport) -> list[nodes.Node]:  # noqa: N802 - of Jinja
        """Everything that the other template defines."""
        tree = self.visit(_parsed(self._env, _constant(node.template)))
        kinds = (nodes.Macro, nodes.Assign, nodes.AssignBlock)
        return [one for one in tree.body if isinstance(one, kinds)]

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802 - of Jinja
        """What is in a block."""
        return self._scope(self._blocks[node.name], node.lineno)

    def visit_Output(self, node: nodes.Output) -> list[nodes.Node]:  # noqa: N802 - of Jinja
        """What is shown, with what ``super()`` shows as a statement of its own."""
        parts: list[nodes.Node] = []
        shown: list[nodes.Expr] = []
        for one in node.nodes:
            if _called(one) != "super":
                shown.append(self.visit(one))
                continue
            parts += [nodes.Output(shown, lineno=node.lineno)] if shown else []
            parts.append(self._scope(self._replaced[-1], node.lineno))
            shown = []
        return [*parts, nodes.Output(shown, lineno=node.lineno)] if shown else parts

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - of Jinja
        """A call; that of a string, a picture or a file of the theme is computed."""
        made = self.generic_visit(node)
        give = self._constants.get(_called(node))
        if give is None or not (arguments := self._computed(node.args)):
            return made
        return give(*arguments)

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:  # noqa: N802 - of Jinja
        """A field of a value; an option of the theme is computed."""
        is_option = isinstance(node.node, nodes.Name) and node.node.name == "theme"
        if is_option and node.attr in self._options:
            return nodes.Const(self._options[node.attr])
        return self.generic_visit(node)

    def visit_If(self, node: nodes.If) -> nodes.Node | list[nodes.Node]:  # noqa: N802 - of Jinja
        """A condition; of one that is computed nothing is left but what it chooses."""
        node.test = made = self.visit(node.test)
        assert isinstance(made, nodes.Expr)
        if not (test := self._computed([made])):
            return self.generic_visit(node)
        if test[0]:
            return self._visited(node.body)
        if not node.elif_:
            return self._visited(node.else_)
        first, *others = node.elif_
        return self._visited([nodes.If(first.test, first.body, others, node.else_)])

    def _visited(self, body: Iterable[nodes.Node]) -> list[nodes.Node]:
        return [one for part in body for one in _listed(self.visit(part))]

    def _computed(self, some: Iterable[nodes.Expr]) -> list[Any]:
        """The values of expressions; empty where one hangs on the page."""
        try:
            return [one.as_const(nodes.EvalContext(self._env)) for one in some]
        except nodes.Impossible:
            return []

    def _scope(self, chain: list[nodes.Block], line: int) -> nodes.Node:
        block, *replaced = chain
        self._replaced.append(replaced)
        body = self._visited(block.body)
        self._replaced.pop()
        return nodes.Scope(body, lineno=line)


def _parsed(env: Environment, name: str) -> nodes.Template:
    assert env.loader is not None, "themes have one"
    source, filename, _ = env.loader.get_source(env, name)
    return env.parse(source, name, filename)


def _constant(template: nodes.Expr) -> str:
    assert isinstance(template, nodes.Const), "a template of ours names another one"
    return str(template.value)


def _called(node: nodes.Node) -> str:
    """The name of the function that a node calls; empty where it has none."""
    named = node.node if isinstance(node, nodes.Call) else None
    return named.name if isinstance(named, nodes.Name) else ""


def _is_plain_link(node: nodes.Node) -> bool:
    """Whether a node is a link without a fragment."""
    return isinstance(node, nodes.Filter) and node.name == "url" and not node.args


def _listed(made: nodes.Node | Iterable[nodes.Node] | None) -> Iterable[nodes.Node]:
    if made is None:
        return ()
    return (made,) if isinstance(made, nodes.Node) else made
