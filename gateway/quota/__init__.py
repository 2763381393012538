"""How much: rate limits, budgets and quotas that hold over processes, restarts and hosts.

    window        minutes, days and months as sums of slots; how much of a limit may be granted
    need          what a request may use at most, in tokens and money
    meter         what this process has leased of one limit, and spends without asking anybody
    store         where leases are taken: SQLite for the workers of a host, `postgresql_store` for several hosts
    quota         a reservation before anything is sent; settled with what was really used

Rules: what is not surely within the limit is refused (a process that dies takes its lease with it); a limit holds in
any 60 seconds, not on average; without the store nothing is served to a caller who has limits.
"""
