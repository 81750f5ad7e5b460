"""Native frameworks, each in one file, found by entry points and installed when the framework is imported."""

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere

__all__ = ["Adapter", "wrap", "wrap_everywhere"]
