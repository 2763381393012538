"""Documents for auditors and authorities: fields that sovctl fills, fields that people answer, and missing fields."""
