"""The data plane: what clients talk to."""
