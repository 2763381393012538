"""Generated sets for `bench/pii.py`: invented texts with valid identifiers of invented people, from a seed.

    python -m bench.pii_sets --out build/bench/pii --seed 7

`structured.jsonl`: identifiers of every entity type in their usual context, language by language. `evasions.jsonl`: the
same ones disguised. `unseen.jsonl`: spellings and contexts that the other sets lack. `clean.jsonl`: texts with many
numbers that are not identifiers. `names.jsonl` with `customers.csv`: listed people and companies, inflected,
abbreviated, transliterated.

The number schemes are written from their published rules and share no code with the gateway, so that an error in one of
them does not hide in the other.
"""
