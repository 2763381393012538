"""An answer that is held back goes to a person: a queue that survives restarts, and what everybody is told meanwhile.

    case        one hand-off as plain values, and which state follows which
    queue       the hand-offs of a host in one SQLite file: ids, codes and times, never text
    transcript  the conversation so far, in tokens only
    desk        joins them: hands over, shows, takes, resolves, tells the client
    signature   what a webhook sends, and how its receiver knows that it is ours
    webhook     the one worker that tells the receiver, again and again until it was heard

What was said lies in the vault, sealed, in a conversation of its own beside the one it belongs to; so it expires with
it, and an erasure of the one destroys the keys of the other.
"""
