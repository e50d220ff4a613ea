"""The service's markdown dialect, a rule or a few in each file, for markdown-it."""
