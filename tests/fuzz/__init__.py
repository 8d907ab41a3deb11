"""Streams of bytes that nobody has sent yet, against the dialects: what must hold for all of them."""
