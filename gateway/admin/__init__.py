"""Admin surface: a listener separate from the clients', an API, and one page that works without scripts.

    listener    its socket and server, in every worker
    app         paths, permissions, responses
    session     login by cookie, protected against forms of other sites
    status      everything the page shows, as plain values; from `figures`, `decisions`, `budgets` and `board`
    board       state that the workers share: the work of each, and whether to drain
    actions     actions of an operator; each is recorded in the ledger before it is carried out
    page        the HTML, with its style and script inline and no external resources

The page shows no text of a request or an answer. A section is shown only if its component exists. Unauthorized
requests get an error and no data.
"""
