"""What should be brought to mind?

Will turn a cue into the few memories worth showing, or into an honest nothing. Not built yet.
"""
