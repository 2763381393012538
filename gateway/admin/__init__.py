"""What operators see and do: a listener apart from the clients', an API, and one page that works without scripts.

    listener    its socket and server, in every worker
    app         paths, who may, what comes back
    session     logged in by cookie, and safe from other sites' forms
    status      everything the page shows, as plain values; from `figures`, `decisions`, `budgets` and `board`
    board       what several workers tell each other: what each is doing, and whether to drain
    actions     what an operator can do; each is recorded in the ledger before it is done
    page        the HTML, with its style and script inside and nothing from anywhere else

Rules: nothing here shows text of a request or an answer; a section is there only when what it shows is; whoever may not
gets told so and nothing else.
"""
