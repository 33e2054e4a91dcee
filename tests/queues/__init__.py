"""Tools that run on workers of their own, next to their data."""
