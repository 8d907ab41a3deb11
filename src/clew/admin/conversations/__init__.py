"""Conversations over the admin listener: what `clew.chat.remote` asks of a gateway that runs elsewhere."""
