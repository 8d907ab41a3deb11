"""What of a stream needs no reading: words that are cut out of their chunks and put into the client's frames."""
