"""The command line against a running service."""

from tests.support.commands import cloned, run, service

__all__ = ["cloned", "run", "service"]
