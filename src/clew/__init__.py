"""clew keeps a conversation's reasoning intact while models and backends change."""
