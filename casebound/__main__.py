"""`python -m casebound` is the `casebound` command."""

from casebound.cli import main

if __name__ == "__main__":
    main()
