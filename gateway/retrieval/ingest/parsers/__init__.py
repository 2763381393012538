"""Parsers of documents. They run only in the process of `worker`, without files, network and further processes."""
