"""Write the oldest versions that pyproject.toml allows, as constraints for pip: every ``>=`` becomes ``==``.

PyTorch stays at the version of constraints.txt: its older wheels bring gigabytes of CUDA. TORCH=2.4 asks for one.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUND = re.compile(r"([\w-]+)(?:\[[\w,-]+\])?>=([\d.]+)")


def main() -> None:
    """Write one line per distribution that has a lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    lowest = dict(found.groups() for each in asked if (found := BOUND.fullmatch(each)))
    pinned = re.search(r"^torch==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    lowest["torch"] = os.environ.get("TORCH") or (pinned[1] if pinned else lowest["torch"])
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(lowest.items()))


if __name__ == "__main__":
    main()
