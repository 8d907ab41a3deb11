"""The trial of a backend, for the command line and the page alike: does it answer, and does it take its reasoning back?"""
