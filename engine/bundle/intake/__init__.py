"""Import of a bundle at a site: opened, received, verified, scanned, approved by a second person, published.

Each state is a record of the site's ledger, which is the only memory that is trusted. Every step can be repeated after
a crash. Bytes from media stay in quarantine until a second person approves the bundle.
"""
