"""``wikisync demo``: the guide served and exported on this machine."""

import asyncio
import tempfile
from pathlib import Path

import click

from wikisync.api.client import Client
from wikisync.cli.console import Console
from wikisync.cli.export import show_report
from wikisync.cli.options import folder_option
from wikisync.core.messages import Progress
from wikisync.errors import ServiceError
from wikisync.service.loading import load_folder
from wikisync.service.server import running_service
from wikisync.site.mirror import Mirror, open_mirror
from wikisync.site.model import SiteOptions
from wikisync.workspace.discovery import Selection
from wikisync.workspace.exporting import ExportRequest, build, check_output, pull
from wikisync.workspace.folders import held_cache
from wikisync.workspace.keeping import Keeping
from wikisync.workspace.mirroring import Mirroring
from wikisync.workspace.pulled import Pulled

GUIDE_FOLDER = "sample-site"
GUIDE_PAGE = "docs/handbook/-/wikis/index.html"
"""The first page of the guide in the site."""
OPTIONS = {"start": "docs/handbook", "edit_link": False, "service_link": False}
"""Nobody answers at the service's address by the time that the site is read."""
DESCRIPTION = (
    "The wikis of a GitLab-compatible service as a folder that you edit with any"
    " editor, and as a static website."
)


@click.command(name="demo", epilog="Example: wikisync demo -o site")
@folder_option(
    "-o",
    "--output",
    default=Path("demo/site"),
    show_default=True,
    help="Output folder of the site.",
)
@click.pass_obj
def command(console: Console, output: Path) -> int:
    """Export the user guide from an embedded service and print the site's location."""
    check_output(output)
    options = SiteOptions(
        title="wikisync", description=DESCRIPTION, theme_options=OPTIONS
    )
    # another port each time makes another service of it, so nothing is kept
    with (
        tempfile.TemporaryDirectory(prefix="wikisync-demo-") as name,
        console.progress() as progress,
    ):
        data, cache = Path(name, "service"), Path(name, "cache")
        with held_cache(cache), open_mirror(cache) as mirror:
            reading = serve_and_pull(data, mirror, progress)
            client, keeping, pulled = asyncio.run(reading)
            request = ExportRequest(keeping.service, output, site=options)
            exported = build(request, client, pulled, mirror, keeping, progress)
    code = show_report(console, exported)
    console.note("the broken link is on purpose: its page shows how a site marks one")
    console.note("open in a browser:")
    console.result((output / GUIDE_PAGE).resolve().as_uri())
    return code


async def serve_and_pull(
    data: Path, mirror: Mirror, progress: Progress
) -> tuple[Client, Keeping, Pulled]:
    """Run the service as long as it takes to read all its wikis."""
    progress.start("start the service", None)
    async with running_service(data) as running:
        await load_folder(running, guide_folder())
        client = Client(running.url, running.first_token)
        keeping = Keeping((), str(client.address), allow_emptying=True)
        mirroring, everything = Mirroring(client, mirror), Selection(is_all=True)
        pulled = await pull(client, everything, mirroring, keeping, progress)
    return client, keeping, pulled


def guide_folder() -> Path:
    """The guide of an installed wheel, else that of the checkout."""
    package = Path(__file__).resolve().parent.parent
    for guide in (package / GUIDE_FOLDER, package.parent / GUIDE_FOLDER):
        if guide.is_dir():
            return guide
    raise ServiceError(
        "the user guide is missing from this installation",
        hint="reinstall wikisync from its wheel or checkout",
    )
