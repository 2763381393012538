"""Types of resources that sovctl manages on a node, one module for each.

Each module defines a `RESOURCE_TYPE`: its name, which is also the name of its Ansible role, the resources expected on
a node, and their observed state in the node's facts. `plan/order.py` defines the order in which they are applied.
"""
