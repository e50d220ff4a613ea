"""What is done with workspaces: opened, synced, exported, checked; no command line."""
