"""The commands of `festinger`, one module a family, loaded when called."""
