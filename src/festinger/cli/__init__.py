"""The command line: `festinger <command>`.

One module a command family. A command parses, calls and prints; messages go to stderr, results to stdout.
"""
