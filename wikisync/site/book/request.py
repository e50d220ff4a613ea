"""What one command writes besides a site, or instead of one."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

BookFormat = Literal["html", "pdf", "epub"]
PdfEngine = Literal["auto", "chromium", "weasyprint"]


class BookRequest(Struct, frozen=True):
    """The files that are asked for."""

    files: tuple[tuple[BookFormat, Path], ...] = ()
    only: str = ""
    """Address of a page or folder: it and what is below it; empty for all."""
    engine: PdfEngine = "auto"


NO_BOOKS = BookRequest()
