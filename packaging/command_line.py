# SPDX-License-Identifier: BSD-2-Clause
"""The installed command's man pages and completions, printed for packaging/prepare.

`command_line.py run ARGUMENTS` is the command line as an installation has it, for help2man;
`command_line.py bash` and `command_line.py zsh` print a completion.
"""

import argparse
import sys

from runners.checkout import Installation, here
from runners.cli import main, parser

INSTALLATION = Installation(here().root)


def with_files(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Tell shtab which arguments of a command, and of its subcommands, are files and folders.

    zsh completes no option before an argument that it cannot complete, so each positional argument
    is completed as a file.
    """
    import shtab

    kinds = {"LIB": shtab.FILE, "FILE": shtab.FILE, "KEY": shtab.FILE, "DIR": shtab.DIRECTORY}
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                with_files(each)
        elif action.choices is None:
            kind = kinds.get(str(action.metavar))
            kind = kind or (None if action.option_strings else shtab.FILE)
            if kind is not None:
                action.complete = kind  # type: ignore[attr-defined]
    return command


def completion(shell: str) -> str:
    """The completion for bash or zsh."""
    import shtab

    text: str = shtab.complete(with_files(parser(INSTALLATION)), shell=shell)
    # If an option takes a file, bash completes file names.
    return text.replace("complete -o filenames", "complete -o bashdefault -o default -o filenames")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(main(sys.argv[2:], INSTALLATION))
    print(completion(sys.argv[1]))
