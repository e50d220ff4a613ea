"""Source text of a page to safe HTML; no network, knows no site."""
