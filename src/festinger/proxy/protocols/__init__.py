"""Parses requests and replies of every supported protocol, and writes synthetic replies.

Pure: bytes come in, frozen values go out, and what cannot be read is reported, never guessed.
"""
