"""What is given n and 4n of a thing does at most about four times the work."""
