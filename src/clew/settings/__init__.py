"""What the operator decides: files and environment variables, read here and nowhere else.

`load` reads `clew.toml` (`document` has its types), `examine` finds all that is wrong with it, `rows` makes backends of its
tables, and the result is one value (`values`). `home` says where files are; `gateway_key`, `secret` and `sources` are about
keys.
"""
