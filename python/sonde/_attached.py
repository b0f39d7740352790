# SPDX-License-Identifier: MIT
"""The program `sonde` of this package, attached to this process while a block runs: for collectors that look from outside."""
import os
import signal
import subprocess

from . import _sonde

# What `sonde record` calls the options of sample otherwise than `--sample-NAME`: as py-spy does.
_RECORD = {"--sample-children": "--subprocesses", "--no-sample-children": "--no-subprocesses"}


def _words(outside):
    """The verb, and the options of it, that run these collectors: [(name, options)]."""
    names = dict(outside)
    first = "sample" if "sample" in names else outside[0][0]
    words = ["record" if first == "sample" else first]
    others = [name for name, _ in outside if name != first]
    if others:
        words += ["--with", ",".join(others)]
    for name, options in outside:
        for word in options:
            if name == "sample":
                key, equals, value = word.partition("=")
                word = _RECORD.get(key, key.replace("sample-", "", 1)) + equals + value
            words.append(word)
    return words


class Attached:
    """It records from when this is made to end()."""

    def __init__(self, outside, path):
        from ._plot import _program

        verb, *options = _words(outside)
        self.process = None
        command = [_program(), verb, "--pid", str(os.getpid()), "-v", "-o", path] + options
        _sonde._let_look(-1)  # it asks at once, and has no number before
        try:
            # A session of its own: Control-C is for the program, not for it.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                            start_new_session=True)
            _sonde._let_look(self.process.pid)
            self.said = []
            self._wait_until_it_records()
        except BaseException:
            _sonde._let_look(0)
            self._kill()
            raise

    def _kill(self):
        """What was started is neither left to itself nor to be waited for: nothing is recorded."""
        if self.process is not None:
            self.process.kill()  # nothing, where it has ended
            self.process.wait()
            self.process.stderr.close()

    def _wait_until_it_records(self):
        for line in self.process.stderr:
            said = line.decode("utf-8", "replace").strip()
            if said.startswith("sonde: records process"):
                return
            self.said.append(said)
        self.process.wait()
        self.process.stderr.close()
        said = " ".join(self.said) or "sonde ended with {0}".format(self.process.returncode)
        raise RuntimeError(said[len("sonde: "):] if said.startswith("sonde: ") else said)

    def end(self):
        """Stops it; its file is whole then."""
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)
            self.said += self.process.stderr.read().decode("utf-8", "replace").splitlines()
            self.process.wait()
            self.process.stderr.close()
        finally:
            _sonde._let_look(0)
