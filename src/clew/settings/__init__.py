"""What the operator decides: files and environment variables, read here and nowhere else.

`load` reads `clew.toml` (`document` has its types), `examine` finds every mistake in it, `backend_rows` makes
backends of its tables, and the result is one value (`values`). `home` says where files are; `own_keys` has clew's own keys,
and `key_sources` finds those of backends. `processes` has what each running gateway has applied, and `rollout` waits for a
change there.
"""
