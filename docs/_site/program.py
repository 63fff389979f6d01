"""What pages show of the program itself, made when the site is built so that it cannot go stale.

``commands_page`` lists every option of every command. The directive ``session`` runs shell commands and shows what they
print, ``live`` frames a page that they wrote, and ``picture`` draws with matplotlib.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

COLUMNS = "94"
PATIENCE = 600


def commands_page() -> str:
    """Return Markdown with the help of every command, all options with it, as the program prints it."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from fairfront.cli import app

    runner, lines = CliRunner(env={"COLUMNS": COLUMNS, "TERMINAL_WIDTH": COLUMNS}), []
    for words in _commands(get_command(app)):
        said = runner.invoke(app, [*words, "--help"], prog_name="fairfront").output
        lines += [f"# fairfront {' '.join(words)}", "", "```text", said.strip("\n"), "```", ""]
    return "\n".join(lines)


def _commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        yield from _commands(command, (*words, name)) if inner else [(*words, name)]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a session: the command first, a cache of its own, a screen of one width."""
    command = folder / "bin" / "fairfront"
    if not command.exists():
        command.parent.mkdir(parents=True)
        command.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from fairfront.cli import main; main()' \"$@\"\n")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    import fairfront

    own = {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(fairfront.__file__).parents[1]),
        "COLUMNS": COLUMNS,
        "FAIRFRONT_CACHE": str(folder / "cache"),
    }
    return {name: value for name, value in os.environ.items() if name != "FAIRFRONT_DATA"} | own


def commands_of(lines: list[str]) -> list[str]:
    """Return the commands of a session; a line that ends in a backslash goes on in the next."""
    found: list[str] = []
    for line in lines:
        if found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
        elif line.strip():
            found.append(line)
    return found


def run_command(words: str, folder: Path, code: int = 0) -> str:
    """Run a command in the folder ``home`` of a session and return what it prints; another exit code is an error."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        ["sh", "-c", words],
        cwd=home,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != code:
        raise RuntimeError(f"$ {words}\nended with exit code {done.returncode}, expected {code}:\n{done.stdout}")
    return done.stdout.replace(str(folder / "cache"), "~/.cache/fairfront")


def setup(app: Any) -> dict[str, bool]:
    """Add the directives; write the list of commands before pages are read, and live pages after."""
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    folders: dict[str, Path] = {}
    live: list[tuple[Path, str]] = []

    def folder_of(page: str) -> Path:
        if page not in folders:
            folders[page] = Path(tempfile.mkdtemp(prefix="fairfront-site-"))
        return folders[page]

    class Session(SphinxDirective):
        has_content = True
        option_spec: ClassVar = {"code": directives.nonnegative_int, "quiet": directives.flag}

        def run(self) -> list[nodes.Node]:
            folder, shown = folder_of(self.env.docname), []
            for words in commands_of(list(self.content)):
                said = run_command(words, folder, self.options.get("code", 0))
                shown.append(f"$ {words}\n" + ("" if "quiet" in self.options else said))
            text = "".join(shown).rstrip()
            return [nodes.literal_block(text, text, language="console", classes=["session-output"])]

    class Live(SphinxDirective):
        required_arguments = 1
        option_spec: ClassVar = {"class": directives.unchanged, "title": directives.unchanged}

        def run(self) -> list[nodes.Node]:
            source = folder_of(self.env.docname) / "home" / self.arguments[0]
            name = f"{self.env.docname.replace('/', '-')}-{source.name}"
            live.append((source, name))
            here = "../" * self.env.docname.count("/")
            title, kind = self.options["title"], self.options.get("class", "explorer")
            frame = f'<iframe class="{kind}" src="{here}_live/{name}" title="{title}" loading="lazy"></iframe>'
            link = f'<p><a href="{here}_live/{name}">Open it as a page of its own</a></p>'
            return [nodes.raw("", frame + link, format="html")]

    class Picture(SphinxDirective):
        has_content = True
        option_spec: ClassVar = {"alt": directives.unchanged_required}

        def run(self) -> list[nodes.Node]:
            import matplotlib

            matplotlib.use("Agg")
            from matplotlib import pyplot

            exec(compile("\n".join(self.content), self.env.docname, "exec"), {})
            folder = Path(self.env.srcdir) / "_pictures"
            folder.mkdir(exist_ok=True)
            name = f"{self.env.docname.replace('/', '-')}-{self.env.new_serialno('picture')}.png"
            pyplot.gcf().savefig(folder / name, dpi=120, bbox_inches="tight")
            pyplot.close("all")
            image = nodes.image(uri=f"/_pictures/{name}", alt=self.options["alt"])
            code = "\n".join(self.content)
            block = nodes.literal_block(code, code, language="python")
            opened = nodes.raw("", "<details><summary>The code of this picture</summary>", format="html")
            return [image, opened, block, nodes.raw("", "</details>", format="html")]

    def write_commands(app: Any) -> None:
        place = Path(app.srcdir) / "reference" / "_made"
        place.mkdir(exist_ok=True)
        text = commands_page()
        page = place / "commands.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")

    def copy_live(app: Any, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            place = Path(app.outdir) / "_live"
            place.mkdir(exist_ok=True)
            for source, name in live:
                shutil.copyfile(source, place / name)
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)

    for name, kind in (("session", Session), ("live", Live), ("picture", Picture)):
        app.add_directive(name, kind)
    app.connect("builder-inited", write_commands)
    app.connect("build-finished", copy_live)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
