"""The paper's tables, made again with one command."""
