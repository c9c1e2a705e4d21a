"""Runs a model before and after a change and compares the numbers."""
