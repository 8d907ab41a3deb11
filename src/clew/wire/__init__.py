"""Bytes on the wire: server-sent events, JSON edits inside the original bytes, strict reading. Pure."""
