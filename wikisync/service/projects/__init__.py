"""Projects of the embedded service: their records, and the requests about them."""
