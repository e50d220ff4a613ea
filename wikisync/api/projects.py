"""Projects: the operations on projects, one method per endpoint.

The methods are named as in ``parameters.Endpoint`` and take the parameters of
its table by name.  What an endpoint does not take is refused before anything is
sent; what is newer than the table goes through ``also``.

By subject: ``project_lists``, ``project_reads``, ``project_changes``,
``project_files``; ``project_calls`` is what they share.
"""

from __future__ import annotations

from wikisync.api.project_changes import Deletion, ProjectChanges, Toggle
from wikisync.api.project_files import ProjectFiles
from wikisync.api.project_lists import ProjectLists
from wikisync.api.project_reads import ProjectReads

__all__ = ["Deletion", "Projects", "Toggle"]


class Projects(ProjectLists, ProjectChanges, ProjectFiles, ProjectReads):
    """The projects of the service behind an open client."""
