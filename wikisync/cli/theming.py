"""The theme that a command line asks for, in front of what a configuration says."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from wikisync.cli.options import InputPath, decorated
from wikisync.workspace.folders import ThemeChoice
from wikisync.workspace.page_files import parse_settings


def theme_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a site's theme; the command gets them as one ``choice``."""
    decorators = [
        click.option(
            "--theme",
            metavar="NAME",
            help="Theme: a name, or the path of a theme folder, like themes/ours.",
        ),
        click.option(
            "--theme-option",
            "theme_options",
            multiple=True,
            metavar="NAME=VALUE",
            help="Set an option of the theme; repeatable.",
        ),
        click.option(
            "--templates",
            type=InputPath("folder"),
            metavar="FOLDER",
            help="Folder of templates and files that override the theme's.",
        ),
        click.option(
            "--no-report",
            "has_report",
            is_flag=True,
            default=True,
            flag_value=False,
            help="Omit the report pages (broken links, missing pages, orphans).",
        ),
        click.option(
            "--page-templates",
            is_flag=True,
            help="Also publish the templates for new pages, in templates/.",
        ),
    ]

    @wraps(command)
    def run(
        *words: Any,
        theme: str | None,
        theme_options: tuple[str, ...],
        templates: Path | None,
        has_report: bool,
        page_templates: bool,
        **options: Any,
    ) -> Any:
        given = parse_settings(theme_options, "--theme-option")
        choice = ThemeChoice(theme, given, templates, has_report, page_templates)
        return command(*words, choice=choice, **options)

    return decorated(run, decorators)
