"""Tests of the application: settings, embedded stack, command line and what it prints."""
