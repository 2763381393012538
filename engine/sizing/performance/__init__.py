"""Step time, throughput and capacity of a replica."""
