"""The encoder and its gate."""
