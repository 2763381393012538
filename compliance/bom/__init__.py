"""Bills of materials in CycloneDX 1.6: software, and models with their cards."""
