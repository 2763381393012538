"""Pools: the running server has the planned flags, answers, and requires client certificates.

Measured with vLLM 0.32.0:
- `/health` returns 200 while a worker hangs, so only a completion proves that a pool works.
- The API key does not protect `/invocations` (which completes prompts), `/tokenize` and `/metrics`, so the client
  certificate is the access control.
"""
