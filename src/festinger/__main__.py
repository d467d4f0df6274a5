"""Runs the `festinger` command via `python -m festinger`."""

from festinger.cli.main import main

if __name__ == "__main__":
    main()
