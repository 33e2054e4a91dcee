"""What a run leaves in its history, and what today's code makes of histories left by earlier code."""
