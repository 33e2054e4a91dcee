"""Whole runs on real servers."""
