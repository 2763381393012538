"""The token grammar: issue, search, restore, keys, conversations, surrogates."""
