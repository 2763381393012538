"""Rate limits and budgets that hold over processes, restarts and hosts.

    window        minutes, days and months as sums of slots; how much of a limit is granted
    need          tokens and cost that a request may use at most
    meter         leases of this process, spent without a query
    store         where leases are taken: SQLite for the workers of a host, PostgreSQL for several hosts
    quota         reserves before a request is sent, and commits what was used

- A request is refused unless it is certainly within its limits. A process that dies keeps its leases.
- A limit per minute holds in any 60 seconds, not only on average.
- Without the store, no request of a principal with limits is served.
"""
