"""The version of wikisync.  Pure."""

__version__ = "0.1.0"
