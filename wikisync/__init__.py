"""wikisync: the wikis of a GitLab-compatible service as folders and websites."""

__version__ = "0.1.0"
