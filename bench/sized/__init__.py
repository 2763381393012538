"""What the sizing benchmark is made of: rows of measurements, the fit of the constants, shapes of older models."""
