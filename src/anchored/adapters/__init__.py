"""Native frameworks, each in one file, found by entry points and installed when the framework is imported."""

from anchored.adapters.adapter import Adapter, wrap

__all__ = ["Adapter", "wrap"]
