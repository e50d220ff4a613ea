"""What a site build says of itself: the same for ``export`` and ``build``."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import asdict

from wikisync.cli.console import Console
from wikisync.markup.record import position_of
from wikisync.site.model import BuildReport
from wikisync.workspace.sentences import counted

BROKEN_LINKS_SHOWN_MAX = 20


def site_summary(
    report: BuildReport, pages: str, problems: int, places: Iterable[Path]
) -> str:
    """What was done, and each place where something is, once."""
    links = counted(len(report.broken_links), "broken link")
    return (
        f"{pages}: {counted(report.written, 'file')} written,"
        f" {report.unchanged} unchanged, {report.removed} removed;"
        f" {links}, {counted(problems, 'problem')}\n"
        + "\n".join(dict.fromkeys(map(str, places)))
    )


def show_broken_links(
    console: Console, report: BuildReport, *, is_strict: bool
) -> None:
    """The first broken links, each with its page and line.

    In strict mode a command fails for them, and says so under ``--quiet``, too.
    """
    show = console.warn if is_strict else console.note
    links = Counter(
        f"broken link: {link.wiki}: {position_of(link.slug, link.line)}:"
        f" {link.href} ({link.reason})"
        for link in report.broken_links
    )
    for line, times in list(links.items())[:BROKEN_LINKS_SHOWN_MAX]:
        show(f"{line}, {times} times" if times > 1 else line)
    if len(links) > BROKEN_LINKS_SHOWN_MAX:
        more = len(links) - BROKEN_LINKS_SHOWN_MAX
        show(f"and {more} more broken links; --json lists all")


def files_as_json(report: BuildReport) -> dict[str, object]:
    """Counts of files, for programs."""
    return {
        "written": report.written,
        "unchanged": report.unchanged,
        "removed": report.removed,
    }


def broken_links_as_json(report: BuildReport) -> list[dict[str, object]]:
    """Every broken link, for programs."""
    return [asdict(link) for link in report.broken_links]
