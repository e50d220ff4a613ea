"""``wikisync theme``: the themes, their options and contract, a start of one's own."""

import json
from pathlib import Path
from shlex import quote

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option
from wikisync.errors import FolderError, UsageError
from wikisync.folder.safe_open import folder_error
from wikisync.site import theme_layers
from wikisync.site.theme_layers import ThemeOption
from wikisync.workspace.sentences import fields

MANIFEST = """\
name = {name}
version = "0.1.0"
api = 1
extends = {extends}
description = "A theme of our own"

# Options of the theme that this one extends may get another default here.
[options.extra_css]
type = "strings"
default = ["ours.css"]
help = "style sheets in static/, after the theme's own"

[options.banner]
type = "string"
default = ""
help = "shown above every page"
"""
TEMPLATE = """\
{{% extends "!{extends}/base.html" %}}
{{# Fill blocks here; `wikisync theme docs` lists them. Never copy a whole template. #}}
{{% block announce %}}
{{% if theme.banner %}}<p class="lead">{{{{ theme.banner }}}}</p>{{% endif %}}
{{% endblock %}}
"""
STYLE = """\
/* The variables of the theme; each colour is for light and for dark.
:root { --link: light-dark(#0b6e4f, #6fd3ac); }
*/
"""


@click.group("theme", epilog="Example: wikisync theme new ./themes/ours")
def command() -> None:
    """List themes, show theme options, create a theme."""


@command.command("list", epilog="Example: wikisync theme list")
@json_option
@click.pass_obj
def list_themes(console: Console) -> None:
    """List the themes that come with wikisync."""
    layers = (theme_layers.theme_chain(name)[0] for name in theme_layers.theme_names())
    names = "name version extends description"
    shown = [fields(one.manifest, names) for one in layers if one.manifest is not None]
    if console.as_json:
        console.json(shown)
    else:
        rows = [[value or "" for value in theme.values()] for theme in shown]
        console.table(names.split(), rows)


@command.command("show", epilog="Example: wikisync theme show ./themes/ours")
@click.argument("name", metavar="NAME")
@json_option
@click.pass_obj
def show_theme(console: Console, name: str) -> None:
    """Show the options of the theme NAME; NAME with a slash is a folder.

    Set options in [site.options] of wikisync.toml, or with --theme-option.
    """
    chain = theme_layers.theme_chain(name)
    options = theme_layers.declared_options(chain)
    if console.as_json:
        shown = {
            "name": chain[0].name,
            "folder": str(chain[0].folder),
            "layers": [layer.name for layer in chain],
            "options": [
                fields(option, "name default choices minimum maximum help")
                | {"type": option.kind}
                for option in options.values()
            ],
        }
        console.json(shown)
        return
    console.note(f"{' > '.join(layer.name for layer in chain)}: {chain[0].folder}")
    rows = [
        (option.name, option.kind, json.dumps(option.default), _help(option))
        for option in options.values()
    ]
    console.table(("option", "type", "default", "meaning"), rows)


@command.command("docs", epilog="Example: wikisync theme docs")
@click.pass_obj
def show_docs(console: Console) -> None:
    """Print the reference for theme authors: blocks, values, filters, options."""
    contract = theme_layers.builtin_folder().parent / "docs" / "themes.md"
    console.result(contract.read_text(encoding="utf-8").rstrip())


@command.command("new", epilog="Example: wikisync theme new ./themes/ours")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--extends", default="default", show_default=True, help="Theme to extend."
)
@flag("--dry-run", help="Show what would be written.")
@click.pass_obj
def new_theme(console: Console, folder: Path, extends: str, *, dry_run: bool) -> None:
    """Create a theme in FOLDER: a manifest, one template, one style sheet."""
    if extends not in theme_layers.theme_names():
        raise UsageError(
            f"wikisync has no theme {extends}",
            hint=f"available themes: {', '.join(theme_layers.theme_names())}",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(
            f"{folder} already exists and is not an empty folder",
            hint="choose another folder for the theme; nothing was changed",
        )
    name = json.dumps(folder.resolve().name, ensure_ascii=False)
    files = {
        "theme.toml": MANIFEST.format(name=name, extends=json.dumps(extends)),
        "templates/base.html": TEMPLATE.format(extends=extends),
        "static/ours.css": STYLE,
    }
    if not dry_run:
        try:
            for path, text in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        except OSError as exc:
            raise folder_error("write", str(exc.filename or folder), exc) from exc
    word = "would write" if dry_run else "wrote"
    console.result("\n".join(f"{word} {folder / path}" for path in files))
    shown = str(folder) if "/" in str(folder) else f"./{folder}"
    console.note(
        f"use it with theme = {json.dumps(shown, ensure_ascii=False)} in [site] of"
        f" wikisync.toml, or --theme {quote(shown)}; wikisync theme docs lists blocks,"
        " values and options"
    )


def _help(option: ThemeOption) -> str:
    """What it means and what it may be, on one line."""
    words = [option.help] if option.help else []
    if option.choices:
        choices = ", ".join(json.dumps(choice) for choice in option.choices)
        words.append(f"one of {choices}")
    if option.minimum is not None or option.maximum is not None:
        ends = (option.minimum, option.maximum)
        words.append("..".join("" if end is None else str(end) for end in ends))
    return "; ".join(words)
