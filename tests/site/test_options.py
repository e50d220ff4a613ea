"""Options as text: everything that pages depend on, nothing of this machine."""

from pathlib import Path

from wikisync.site.model import SiteOptions, options_text


def test_options_as_text_hold_no_path_of_this_machine() -> None:
    here = SiteOptions("Docs", templates=Path("/home/somebody/theme"))
    assert options_text(here) == options_text(SiteOptions("Docs"))
    assert options_text(here) != options_text(SiteOptions("Other"))
