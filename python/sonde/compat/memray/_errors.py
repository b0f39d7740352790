# SPDX-License-Identifier: MIT
"""What the commands raise."""


class MemrayError(Exception):
    pass


class MemrayCommandError(MemrayError):
    """Ends a command with a sentence and a status."""

    def __init__(self, *words, exit_code):
        super().__init__(*words)
        self.exit_code = exit_code
