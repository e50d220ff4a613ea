"""What real instances do in some years, played with real commands."""
