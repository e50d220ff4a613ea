"""The command line against a running service."""

from tests.support.commands import clashing, cloned, proxy, run, service

__all__ = ["clashing", "cloned", "proxy", "run", "service"]
