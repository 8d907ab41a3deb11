"""Bytes on the wire: SSE, JSON edits inside the original bytes, partial JSON. Pure."""
