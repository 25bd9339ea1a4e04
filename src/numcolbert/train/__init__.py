"""Training (needs the train extra)."""
