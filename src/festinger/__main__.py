"""`python -m festinger`: the same as the command `festinger`."""

from festinger.cli.main import main

if __name__ == "__main__":
    main()
