"""Which part of a text did we put there ourselves? Asked of `text`, which every room may ask."""
