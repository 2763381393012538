"""Control frameworks, exceptions, and the assessment of controls."""
