"""Measures models and engines against each other, on the CPU or on a GPU."""
