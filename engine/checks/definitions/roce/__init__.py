"""RoCE: flow control, ECN, MTU, GIDs and drops of Ethernet compute ports; N/A on InfiniBand ports."""
