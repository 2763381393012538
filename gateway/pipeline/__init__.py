"""The stages of one request, in order: admission, planning, sending, delivery."""
