"""Planners, and what becomes of the turns they produce."""
