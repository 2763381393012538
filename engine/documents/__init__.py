"""Values of documents and bills of materials, from site.yaml, catalogue, facts and evidence of a site."""
