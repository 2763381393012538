"""The stages of one request, in order: admission, planning, preparation, sending, delivery."""
