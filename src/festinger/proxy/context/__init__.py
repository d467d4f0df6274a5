"""Where does the block of notes go, and how does it get there without changing anything else?

Pure: a request and a block come in, bytes go out. Text is inserted at offsets of the original bytes; nothing is
written anew. What the notes say is asked of the rooms below.
"""
