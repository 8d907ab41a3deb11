"""The pytest plugin: `simulator` fixtures, found by pytest itself once clew is installed."""
