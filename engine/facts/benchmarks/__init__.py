"""Parsers of programs that measure collectives, copies, links and answers: nccl-tests, nvbandwidth, perftest."""
