"""The projection: ordered, small, pure steps. Pure."""
