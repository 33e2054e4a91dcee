"""One module per command. Each is an async function that returns the process' exit code."""
