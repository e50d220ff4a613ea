"""A template of ours as one: what it extends, includes and imports is put in.

A page is made of a dozen templates, and Jinja begins each of them with a context of
its own.  Put together before they are compiled they make the same text in little more
than half of the time.  Templates of others may do what cannot be put together, such as
to choose what they include by a value: where one is in the theme, all stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jinja2 import Environment, Template, nodes
from jinja2.visitor import NodeTransformer


def flat_template(env: Environment, name: str, text: Callable[[str], str]) -> Template:
    """A template with all that it is made of.

    Args:
        env: Where it is found.
        name: Of a template that has nothing but blocks where it extends another one,
            and constant names where it includes.
        text: A string of the user interface.
    """
    chain = [_parsed(env, name)]
    while extends := [*chain[-1].find_all(nodes.Extends)]:
        chain.append(_parsed(env, _constant(extends[0].template)))
    blocks: dict[str, list[nodes.Block]] = {}
    for tree in chain:
        for block in tree.find_all(nodes.Block):
            blocks.setdefault(block.name, []).append(block)
    tree = _Flattening(env, blocks, text).visit(chain[-1])
    code = env.compile(tree.set_environment(env), name, f"<{name} and its parts>")
    return env.template_class.from_code(env, code, env.make_globals(None))


class _Flattening(NodeTransformer):
    """Puts other templates where a tree names them."""

    def __init__(
        self,
        env: Environment,
        blocks: dict[str, list[nodes.Block]],
        text: Callable[[str], str],
    ) -> None:
        self._env = env
        self._blocks = blocks
        """Of each name, what replaces it first."""
        self._text = text
        self._replaced: list[list[nodes.Block]] = []
        """Of each block around, what it replaces."""

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
            if not _is_call(one, "super"):
                shown.append(self.visit(one))
                continue
            parts += [nodes.Output(shown, lineno=node.lineno)] if shown else []
            parts.append(self._scope(self._replaced[-1], node.lineno))
            shown = []
        return [*parts, nodes.Output(shown, lineno=node.lineno)] if shown else parts

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - of Jinja
        """A call; that of a string is the string."""
        if _is_call(node, "t") and isinstance(node.args[0], nodes.Const):
            text = self._text(node.args[0].value)
            return nodes.Const(text, lineno=node.lineno)
        return self.generic_visit(node)

    def _scope(self, chain: list[nodes.Block], line: int) -> nodes.Node:
        block, *replaced = chain
        self._replaced.append(replaced)
        body = [one for part in block.body for one in _listed(self.visit(part))]
        self._replaced.pop()
        return nodes.Scope(body, lineno=line)


def _parsed(env: Environment, name: str) -> nodes.Template:
    assert env.loader is not None, "themes have one"
    source, filename, _ = env.loader.get_source(env, name)
    return env.parse(source, name, filename)


def _constant(template: nodes.Expr) -> str:
    assert isinstance(template, nodes.Const), "a template of ours names another one"
    return str(template.value)


def _is_call(node: nodes.Node, name: str) -> bool:
    named = node.node if isinstance(node, nodes.Call) else None
    return isinstance(named, nodes.Name) and named.name == name


def _listed(made: nodes.Node | Iterable[nodes.Node] | None) -> Iterable[nodes.Node]:
    if made is None:
        return ()
    return (made,) if isinstance(made, nodes.Node) else made
