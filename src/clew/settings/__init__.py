"""What the operator decides: files and environment variables, read here and nowhere else."""
