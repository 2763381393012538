"""Mirror of a site: published snapshots with signed indexes, from which mirror nodes serve their files."""
