"""The library: the handle that `festinger.open` gives out, and what a program does with it."""
