"""Real Linux nodes on one machine, to try everything on: `sovctl lab up`.

Booted systems with systemd, ssh, a firewall, their own network and no way out; a real apt repository, wheelhouse, time
source, InfiniBand fabric and a host outside that plays the cloud. Only hardware is stood in for, and says `simulated`.

    layout      names, addresses, paths          lifecycle   up and down; status looks
    image       the nodes' system, made once     node        one booted machine; network and cgroup hold it
    tools       packages from Debian             services    the daemons beside the nodes; cloud and fabric are two
    gpu_packages, standins/   GPU packages       faults      what can be broken on purpose
"""
