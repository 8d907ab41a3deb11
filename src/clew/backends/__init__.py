"""The endpoints that clew can call, as rows. Pure."""
