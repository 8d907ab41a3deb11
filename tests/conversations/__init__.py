"""Conversations to judge: what a client could send, legal, and one step from legal.

`asked` says what a request is here, `rulebook` shows every static rule from both sides, `legal` draws requests that break no
rule, and `mutations` are the single steps that break one.
"""
