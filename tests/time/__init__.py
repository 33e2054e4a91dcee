"""Deadlines and expiry, by virtual time where nothing runs and by a second or two of real time where something does."""
