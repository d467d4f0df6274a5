"""Wiring: where names become objects.

`wiring` is the one file that joins the rooms below into an open `App`; `keeper` keeps one open while the
store comes and goes; `doctor` asks every room how it is; `memory` is the handle that the library gives out.
No room below knows any of this.
"""
