"""The library: the handle that `festinger.open` returns, and what a program does with it."""
