"""Breaks the product on purpose and sees that a named test notices: `python -m tests.mutants`."""
