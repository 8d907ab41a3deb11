"""Tests of what is drawn while an answer comes."""
