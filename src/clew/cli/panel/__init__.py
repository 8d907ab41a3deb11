"""The switcher of `clew run`: a small panel over the client, opened by a key.

The client runs on a terminal of its own (`terminal`), so that clew sees what is typed before the client does. `typed` finds
the key, `modes` follows what the client did to the screen, `view` draws the panel and says what was chosen. `job` starts the
client in a way that Ctrl-Z still works.
"""
