"""Bundles: files of a lock as chunks under TUF metadata, carried on media into a closed site, and imported there.

Outside the site: `build` writes a store, `signing` completes its signatures, `media` writes media. Inside: `intake`
receives, verifies, scans and publishes. `manifest`, `packing`, `paths` and `root_words` are pure. No option skips
verification.
"""
