"""The client's half of HTTP/1.1: a connection to a server, what it reads, and how long it waits."""
