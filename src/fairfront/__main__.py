"""``python -m fairfront``: the command, where its script is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
