"""Settings of other gateways and switchers, read so that they can be carried over into clew.toml."""
