"""The default model and the demo corpus."""
