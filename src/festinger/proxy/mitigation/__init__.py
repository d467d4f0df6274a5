"""What becomes of the body of a request whose agent goes round in circles?

Decides the places and the bytes; that something is to be done, and what, is decided in `loops`.
"""
