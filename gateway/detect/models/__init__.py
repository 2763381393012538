"""A site's own models that find names: loaded from files whose digest the settings hold, behind the finders' protocol.

`load` opens what the settings name, `finder` gives what a model says the gateway's kinds, `digest` says what a file or
a folder is. A model needs a thread and a time limit: see `model_finders`. Nothing here reaches a network.
"""
