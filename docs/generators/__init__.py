"""Generators of documentation pages. The golden tests run them; they are not part of the package."""
