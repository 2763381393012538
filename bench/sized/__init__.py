"""Parts of the sizing benchmark: rows of measurements, fit of the constants, shapes of older models."""
