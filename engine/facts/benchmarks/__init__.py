"""Parsers of programs that measure collectives, links and answers: nccl-tests, the log of NCCL, perftest."""
