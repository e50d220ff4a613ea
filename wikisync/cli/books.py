"""The options of ``build`` and ``export`` that write all pages into one file."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wikisync.cli.options import decorated
from wikisync.errors import UsageError
from wikisync.site.book.request import BookFormat, BookRequest, PdfEngine

_FORMATS: dict[str, BookFormat] = {"single": "html", "pdf": "pdf", "epub": "epub"}


def book_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options; the command gets their ``BookRequest`` as ``books``."""

    @functools.wraps(command)
    def with_request(
        *args: Any, only: str | None, pdf_engine: PdfEngine | None, **options: Any
    ) -> Any:
        given = ((kind, options.pop(name)) for name, kind in _FORMATS.items())
        files = [(kind, path) for kind, path in given if path is not None]
        for name, value in {"--only": only, "--pdf-engine": pdf_engine}.items():
            if value and not files:
                raise UsageError(
                    f"{name} is for --single, --pdf and --epub",
                    hint="name a file with one of them",
                )
        books = BookRequest(tuple(files), only or "", pdf_engine or "auto")
        return command(*args, books=books, **options)

    texts = {
        "single": "Write all pages into one HTML file.",
        "pdf": "Write all pages into a PDF; needs Chromium or WeasyPrint.",
        "epub": "Write all pages into a book for e-readers.",
    }
    decorators = [
        *(
            click.option(
                f"--{name}",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help=text,
            )
            for name, text in texts.items()
        ),
        click.option(
            "--only",
            metavar="PAGE",
            help="Put only this page or folder, and all below it, into these files.",
        ),
        click.option(
            "--pdf-engine",
            type=click.Choice(["auto", "chromium", "weasyprint"]),
            help="What prints the PDF. [default: Chromium, else WeasyPrint]",
        ),
    ]
    return decorated(with_request, decorators)
