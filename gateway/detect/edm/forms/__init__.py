"""Forms of a name: spellings, stems, transliterations, and the keys under which they are compared."""
