"""The load of `bench/gateway.py`: prompts, the upstream, clients, and processes counted by /proc."""
