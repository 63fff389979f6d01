"""Files: written whole or not at all, read without executing anything, damage told in a sentence."""

from .folders import write_file as write_file
from .folders import write_folder as write_folder
from .packages import read_package as read_package
from .packages import write_package as write_package
