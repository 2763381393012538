"""GPU memory: weights, KV cache, adapters."""
