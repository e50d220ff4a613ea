"""The filters and functions that templates call; the contract is ``docs/themes.md``.

They are the same for all pages: what depends on the page comes from its context.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from wikisync.core.model import Format, Page, Slug
from wikisync.site.addresses import NO_ADDRESSES, NOT_FOUND_PAGE, relative_url

if TYPE_CHECKING:
    from jinja2.runtime import Context
    from markupsafe import Markup

DAYS_CACHED = 4096
"""Dates of which the text is kept."""
SHARED_TEXTS_MAX = 8192
"""Texts kept for the pages of the same directories."""


class Texts(Protocol):
    """What the functions take from a theme."""

    def text(self, key: str, lang: str) -> str:
        """One of its strings."""

    def asset_path(self, name: str) -> str:
        """Output path of a static file."""

    def icon(self, name: str) -> str:
        """A picture of the theme, as SVG."""


@lru_cache(maxsize=16)
def csp_hash(text: str) -> str:
    """The source expression that allows one inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def theme_filters(theme: Texts) -> dict[str, Callable[..., Any]]:
    """The filters of ``docs/themes.md``.

    Jinja computes a filter of a constant once, so those of a page take the context.
    """
    from jinja2 import pass_context

    @lru_cache(DAYS_CACHED)
    def shown(text: str, lang: str) -> str:
        day = date.fromisoformat(text)
        month = theme.text("months", lang).split()[day.month - 1]
        form = theme.text("date_format", lang)
        return form.format(day=day.day, month=month, year=day.year)

    @pass_context
    def as_date(context: Context, value: date | str) -> str:
        return shown(str(value)[:10], _lang(context))

    @pass_context
    def plural(context: Context, count: int, key: str) -> str:
        lang = _lang(context)
        form = "one" if count == 1 else "other"
        number = f"{count:,}".replace(",", theme.text("thousands", lang))
        return theme.text(f"{key}_{form}", lang).format(n=number)

    return {
        "url": pass_context(_link),
        "date": as_date,
        "plural": plural,
        "csp_hash": csp_hash,
    }


def _shared_functions() -> dict[str, Any]:
    """What shows texts that all pages of a directory share: each is rendered once."""
    from jinja2 import pass_context
    from markupsafe import Markup

    texts = defaultdict[tuple[str, str], dict[object, Markup]](dict)
    held: list[object] = []
    # no other value has the address in memory of one of these

    def keep(
        place: tuple[str, str], key: object, values: object, text: Markup
    ) -> Markup:
        if len(held) >= SHARED_TEXTS_MAX:
            texts.clear()
            held.clear()
        held.append(values)
        texts[place][key] = text
        return text

    @pass_context
    def shared(
        context: Context, name: str, *values: object, caller: Callable[[], Markup]
    ) -> Markup:
        """The text that shows some values on the pages of a directory."""
        place, key = (_folder(context), name), tuple(map(id, values))
        known = texts[place].get(key)
        return keep(place, key, values, caller()) if known is None else known

    @pass_context
    def shared_each(
        context: Context,
        name: str,
        values: Iterable[object],
        unless: str = "",
        *,
        caller: Callable[[object], Markup],
    ) -> Markup:
        """The texts of many values; one of which ``unless`` is true is not shared."""
        place, every = (_folder(context), name), [*values]
        shown: list[Any] = [*map(texts[place].get, map(id, every))]
        for index, value in enumerate(every):
            if shown[index] is None:
                text = shown[index] = caller(value)
                if not (unless and context.environment.getattr(value, unless)):
                    keep(place, id(value), value, text)
        return Markup("".join(shown))  # noqa: S704 - of texts that are escaped

    return {"shared": shared, "shared_each": shared_each}


def theme_functions(theme: Texts) -> dict[str, Any]:
    """The functions of ``docs/themes.md``."""
    from jinja2 import pass_context
    from markupsafe import Markup

    @pass_context
    def asset(context: Context, name: str) -> str:
        return _link(context, theme.asset_path(name))

    @pass_context
    def t(context: Context, key: str) -> str:
        return theme.text(key, _lang(context))

    def markdown(text: str) -> Markup:
        """Safe HTML of a text of options or front matter; it has no pages to link."""
        # few themes need the parsers, and a site that stays as it is never does
        from wikisync.markup.links import LinkIndex
        from wikisync.markup.page import parse_page
        from wikisync.markup.resolve import finish_page
        from wikisync.site.crosslinks import PageUrls, WikiTable

        urls = PageUrls("", 0, WikiTable(["/"], [NO_ADDRESSES]))
        parsed = parse_page(Page(Slug("text"), Format.MARKDOWN, text))
        html = finish_page(parsed, LinkIndex((), ()), urls).html
        return Markup(html)  # noqa: S704 - sanitised by markup

    def inline_svg(name: str) -> Markup:
        return Markup(theme.icon(name))  # noqa: S704 - a file of the theme

    return {
        "asset": asset,
        "t": t,
        "inline_svg": inline_svg,
        "markdown": markdown,
        **_shared_functions(),
    }


def _link(context: Context, target: str, fragment: str = "") -> str:
    """A link from the page in hand, of "not found" from the top; no URL changes."""
    at = context["at"]
    link = target if "://" in target else relative_url(at, target, fragment)
    if at == NOT_FOUND_PAGE and "://" not in target:
        address = context.environment.getattr(context["site"], "url")
        if address:
            return f"{urlsplit(str(address)).path.rstrip('/')}/{link}"
    return link


def _folder(context: Context) -> str:
    """What pages with the same links have in common."""
    at = str(context["at"])
    # the links of this page begin at the top of the host
    return at if at == NOT_FOUND_PAGE else at.rpartition("/")[0]


def _lang(context: Context) -> str:
    return str(context.environment.getattr(context["site"], "lang"))
