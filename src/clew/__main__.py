"""`python -m clew`, where the command itself is not on the path."""

from clew.cli import main

main(prog_name="clew")
