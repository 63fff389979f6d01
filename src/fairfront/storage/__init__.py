"""Files: written whole or not at all, read without executing anything, damage told in a sentence."""

from .folders import write_file, write_folder
from .packages import read_package, write_package

__all__ = ["read_package", "write_file", "write_folder", "write_package"]
