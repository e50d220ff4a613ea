"""What keeps a workspace from syncing, found out by looking at its parts."""
