"""Sites with invented evidence whose reports are measured, and the environment of another OSCAL implementation."""
