"""Other agent integrations for Temporal, measured as casebound is. Their packages: `requirements.txt` beside this."""
