"""Length of recordings, measured before they are sent: by decoding them, because the length in a header can be wrong.

recording   duration and bytes of one recording
decoding    decodes with libsndfile, as vLLM does, up to a limit
problem     reasons of a refusal
worker      process without rights that decodes one recording
measurer    starts such processes, a limited number at a time
"""
