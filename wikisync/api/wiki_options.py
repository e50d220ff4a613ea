"""Parameters of reading and changing a wiki, with what each one means (pure)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypedDict

from wikisync.api.option import Option
from wikisync.model import WRITABLE_FORMATS, Format

PAGE_FORMATS = tuple(markup for markup in Format if markup in WRITABLE_FORMATS)


class PageListOptions(TypedDict, total=False):
    """``GET .../wikis``."""

    with_content: Annotated[bool, "Each page with its text."]


class PageOptions(TypedDict, total=False):
    """``GET .../wikis/:slug``."""

    render_html: Annotated[bool, "The text as HTML."]
    version: Annotated[str, "The page as of this commit."]


class _PageForm(TypedDict, total=False):
    """What creating and editing a page take."""

    format: Annotated[str, Option("Its markup.", choices=PAGE_FORMATS)]
    message: Annotated[str, "Message of the commit."]


class PageCreateOptions(_PageForm, total=False):
    """``POST .../wikis``."""

    title: Annotated[
        str, Option("The title, with directories before it.", is_required=True)
    ]
    content: Annotated[str, Option("The text.", is_required=True)]


class PageEditOptions(_PageForm, total=False):
    """``PUT .../wikis/:slug``."""

    title: Annotated[str, "The title, with directories before it."]
    content: Annotated[str, "The text."]
    last_commit_sha: Annotated[str, "Commit that the page is thought to be of."]


class AttachmentOptions(TypedDict, total=False):
    """``POST .../wikis/attachments``."""

    file: Annotated[Path | Literal[""], Option("The file.", is_required=True)]
    branch: Annotated[str, "Branch to put it on; else the default one."]
