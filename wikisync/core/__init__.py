"""What every package uses: the words of wikisync as types, messages, decoders."""
