"""Withheld answers that wait for an operator: a queue that survives restarts, and the replacement for the client.

    case        one hand-off as plain values, and the order of its states
    queue       the hand-offs in SQLite or PostgreSQL: ids, codes and times, no text
    transcript  the conversation in tokens
    service     submits, lists, takes, resolves and fetches hand-offs
    signature   body and signature of a webhook call
    watch       calls the webhook until it succeeds, and deletes expired hand-offs

The transcript is stored encrypted in the vault, in a conversation of its own. It expires with the conversation that it
belongs to, and an erasure of that conversation destroys the keys of both.
"""
