"""What both sides last agreed on, and what was seen and done since: one SQLite file."""
