"""Sets of our own for `bench/pii.py`: invented texts with identifiers that are valid and nobody's, from a seed.

    python -m bench.pii_sets --out build/bench/pii --seed 7

`structured.jsonl`: identifiers of every kind in the surroundings that people write them in, language by language.
`evasions.jsonl`: the same ones disguised. `clean.jsonl`: texts full of numbers that are nobody's. `names.jsonl` with
`customers.csv`: listed people and companies, inflected, abbreviated, transliterated.

The number schemes are written from their published rules and share no code with the gateway, so that an error in one of
them does not hide in the other.
"""
