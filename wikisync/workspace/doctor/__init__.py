"""What keeps a workspace from syncing, found out by checking its parts."""
