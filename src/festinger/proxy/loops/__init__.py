"""Is an agent going round in circles, inside one reply or from turn to turn, and what helps it out?

Pure throughout: messages, characters, settings and times come in, findings and plans go out. Reading requests,
holding sessions, sending and cutting streams is the door's matter.
"""
