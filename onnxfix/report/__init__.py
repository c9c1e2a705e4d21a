"""Reports: what lint and repair found, as text and JSON."""
