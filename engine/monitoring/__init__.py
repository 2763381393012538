"""Alert rules of a site as data for Prometheus. Pure functions of site.yaml and catalogue.

Labels that the scrape configuration gives to series: `job` (see `labels`), `node`, and for pools `pool` and `replica`.
"""
