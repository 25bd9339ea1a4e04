"""Runs in, numbers with statistics out."""
