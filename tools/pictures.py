"""Take the picture of the README from the user guide (``make pictures``)."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from wikisync.cli.main import main as wikisync

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PAGE = "docs/handbook/-/wikis/folder/sync.html"
WIDTH, HEIGHT = 1280, 760
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")


def main() -> None:
    """Build the guide as a site and take a picture of one page."""
    browsers = filter(None, map(shutil.which, BROWSERS))
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wikisync(["demo", "--output", f"{folder}/site"])
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=next(browsers), args=["--no-sandbox"]
            )
            page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto((Path(folder) / "site" / PAGE).as_uri())
            page.screenshot(path=PICTURES / "site.png")
            chromium.close()


if __name__ == "__main__":
    main()
