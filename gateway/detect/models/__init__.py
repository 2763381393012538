"""A site's own models that find names: loaded from files whose digest the settings contain, used through `finder`.

`load` opens the models in the settings, `finder` maps their labels to entity types, `digest` computes the digest of a
file or folder. A model needs a thread and a time limit: see `model_finders`. Opens no network connection.
"""
