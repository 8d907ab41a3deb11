"""What a backend refuses or fails at, in the client's words, and what may be changed so that it does not."""
