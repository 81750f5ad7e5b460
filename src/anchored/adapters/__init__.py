"""Native frameworks, each in one file, found by entry points and installed when the framework is imported."""
