"""Driver of a GPU board: modules, tools, host engine, container devices and services."""
