"""What does a client ask its model, in whichever protocol it speaks?

Pure: bytes come in, frozen values go out, and what cannot be read is named, never guessed. Editing is
`injection`'s matter, recognising conversations `sessions`'.
"""
