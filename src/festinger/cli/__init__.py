"""The command line: `festinger <command>`.

One module per command family. A command parses, calls and prints; messages go to stderr, results to stdout.
"""
