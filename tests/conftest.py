"""For every test of the house: how hypothesis searches."""

from __future__ import annotations

from hypothesis import settings

# a busy machine is no failure; a search that never ends is cut by its examples
settings.register_profile("wikisync", deadline=None)
settings.load_profile("wikisync")
