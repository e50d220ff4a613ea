"""The command line against a running service."""

from tests.support.commands import cloned, run, service
from tests.support.kept_reader import kept_reader

__all__ = ["cloned", "kept_reader", "run", "service"]
