"""``wikisync project``: the projects of a service, from the command line.

Options of filters and attributes come from ``contract.parameters`` by ``attributes``;
``project_lists`` reads and ``project_changes`` writes.
"""

import click

from wikisync.cli import project_changes, project_lists


@click.group(
    "project",
    epilog="Example: wikisync project list https://gitlab.example.com --membership\n\n"
    "wikisync project edit https://gitlab.example.com docs/handbook --topics wiki,docs",
)
def command() -> None:
    """List, show and change projects.

    PROJECT is a full path like docs/handbook, or a numeric id.  The service is the
    first argument, --url or $WIKISYNC_URL. In a workspace, both are known, but commands
    that change a project still need PROJECT.
    """


for _made in (*project_lists.commands(), *project_changes.commands()):
    command.add_command(_made)
