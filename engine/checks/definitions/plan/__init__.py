"""The plan of the site, and things on nodes that the plan does not manage."""
