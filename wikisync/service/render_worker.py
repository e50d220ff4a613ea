"""The process that renders pages for ``render_pool``; run as a module."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import msgspec

from wikisync.child import standard_streams
from wikisync.decoding import json_decoder
from wikisync.frames import READY, read_frames, write_frame
from wikisync.model import WikiOwner
from wikisync.service.render_pool import RenderJob
from wikisync.service.rendering import render_page
from wikisync.service.repository import WikiRepository

_JOBS = json_decoder(RenderJob)


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer jobs until there are no more."""
    write_frame(answers, READY)
    repositories: dict[str, WikiRepository] = {}
    for frame in read_frames(requests):
        job = _JOBS.decode(frame)
        repository = repositories.get(job.repository)
        if repository is None:
            repositories.clear()
            repository = WikiRepository(Path(job.repository))
            repositories[job.repository] = repository
        tree = repository.tree()
        if tree.commit != job.commit:
            tree = repository.tree_at(job.commit) or tree
        owner = WikiOwner(job.kind, job.full_path)
        shown = render_page(
            job.page, tree, repository, owner=owner, service_url=job.service_url
        )
        write_frame(answers, msgspec.json.encode(shown.content))


if __name__ == "__main__":
    with standard_streams() as streams:
        main(*streams)
