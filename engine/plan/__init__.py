"""Plans: the difference between expected and observed states, in order and in waves, as a signed file."""
