"""Vectors on disk: the engines, and the store of documents beside them."""
