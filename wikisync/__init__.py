"""wikisync: the wikis of a GitLab-compatible service as folders and websites.

Public are the names of ``__all__`` and those of ``wikisync.api`` (``docs/python.md``);
everything else may change with any version.  They are loaded when they are asked for,
so that ``import wikisync`` costs nothing.  This module imports nothing at its start:
with ``python -m wikisync`` it runs while the current folder is still first on the path.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from wikisync.library import Workspace as Workspace
    from wikisync.library import clone as clone
    from wikisync.library import export as export
    from wikisync.library import sync as sync
    from wikisync.library import wikis as wikis

__all__ = ["Workspace", "clone", "export", "sync", "wikis"]


if not TYPE_CHECKING:

    def __getattr__(name):  # noqa: ANN001, ANN202 - types would be an import
        """Load the public names, all at once.

        The library imports the package ``wikisync.sync``, and the import system binds
        it to the name of the function: so all are bound after that.
        """
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        library = importlib.import_module("wikisync.library")
        globals().update({public: getattr(library, public) for public in __all__})
        return globals()[name]
