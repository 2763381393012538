"""The values of a request that the stages pass on."""
