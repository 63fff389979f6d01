"""The command ``fairfront``, also ``python -m fairfront``: Ctrl-C is answered from the first moment on."""

import sys


def main() -> None:
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; nothing was written.\n")
        sys.exit(130)  # 128 and the number of the signal


if __name__ == "__main__":
    main()
