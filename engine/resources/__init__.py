"""One module per kind of thing that is managed on a node.

Each gives a `KIND`: what it is called, the Ansible role that brings it about, what it expects on a node and how it
reads that out of the facts. `order.py` says in which order they are brought about.
"""
