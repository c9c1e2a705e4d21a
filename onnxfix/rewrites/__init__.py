"""Graph changes: one rewrite a file, driven by `_driver`; `catalogue` lists them all."""
