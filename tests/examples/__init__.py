"""The examples, run as they are told to be run."""
