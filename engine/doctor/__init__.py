"""First steps of a site: what is missing before the first plan and the first apply, in the order of the first week.

`items` is the table. Each item has a function that measures it (`measure_*`), and the items that come before it.
`diagnosis` measures all of them. Files of site.yaml are checked by the function that `sovctl plan` calls, so that both
report the same files. No network is used, except with answers of nodes (`nodes`).
"""
