"""What does a client ask its model, in whichever protocol it speaks?

Pure: bytes come in, frozen values go out, and what cannot be read is named, never guessed. Editing is
`injection`'s matter, recognising conversations `sessions`'.

What did the model answer, and how do we answer in its place?

Reads frames of every protocol into one value, and writes answers of our own that the clients' libraries take for
legal. When to answer ourselves is the loop detector's matter.
"""
