"""``wikisync project``: the projects of a service, from the command line.

Options of filters and attributes come from ``api.parameters`` by ``attributes``;
``project_lists`` reads and ``project_changes`` writes.
"""

from __future__ import annotations

import click

from wikisync.cli import project_changes, project_lists


@click.group("project")
def command() -> None:
    """List, show and change projects.

    PROJECT is a full path like docs/handbook, or a numeric id.  The service is
    the first word, --url, or $WIKISYNC_URL.  A workspace knows both; what changes
    a project wants its name all the same.
    """


for _made in (*project_lists.commands(), *project_changes.commands()):
    command.add_command(_made)
