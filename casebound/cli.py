"""The `casebound` command: parses the command line and hands over to `casebound.commands`."""


def main() -> None:
    """Run the command line."""
