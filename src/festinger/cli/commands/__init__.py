"""The commands of `festinger`, one module per family, loaded when called."""
