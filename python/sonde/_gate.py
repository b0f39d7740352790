# SPDX-License-Identifier: MIT
"""Ctrl-C while something of the user's is held in another state: it waits until all is put back.

A handler of Python's may run, and raise, between any two steps of a program, also between those that put a mode of torch or
the tensors of a model back.  So the handlers of signals that people raise from (Ctrl-C, alarms, an end that is asked for) are
exchanged for one that lets them run where the user's own code does, and else notes that they are to run when all is over.
"""
import signal
import sys
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
# Code that takes something away and puts it back, in steps: what is raised there is lost on its way, or the second step is.
_IN_STEPS = ("contextlib", "torch.overrides", "torch.utils._python_dispatch")
_gates = []  # of the main thread, the innermost last: in other threads no handler runs


def _is_main():
    return threading.current_thread() is threading.main_thread()


def _callers_frame():
    """The innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("sonde."):
        frame = frame.f_back
    return frame


def _is_in_steps(frame):
    """Of our own, which runs in the user's forward, only what torch calls for each of its functions has none."""
    name = str(frame.f_globals.get("__name__")) if frame is not None else ""
    return name in _IN_STEPS or (name.startswith("sonde.") and frame.f_code.co_name != "__torch_function__")


class held:
    """`with held():` what is set up and put back in here is not interrupted, but where it is `opened()`."""

    def __init__(self):
        self._own, self._came, self.is_open, self.raised = {}, [], False, None

    def __enter__(self):
        if _is_main():
            try:
                for number in _SIGNALS:
                    own = signal.getsignal(number)
                    if callable(own):
                        self._own[number] = own
                        signal.signal(number, self._come)
            except ValueError:  # of another interpreter than the main one
                pass
            except BaseException:
                self._give_back()
                raise
            _gates.append(self)
        return self

    def _come(self, number, frame):
        if not self.is_open or _is_in_steps(frame):
            self._came.append(number)
            return
        self.is_open = False  # what it raises finds the gate closed on its way
        self._run(number, frame)
        self.is_open = True

    def _run(self, number, frame):
        try:
            self._own[number](number, frame)
        except BaseException as why:
            self.raised = why
            raise

    def deliver(self):
        """Lets those handlers run that had to wait."""
        while self._came:
            self._run(self._came.pop(0), _callers_frame())

    def _give_back(self):
        for number, own in self._own.items():
            if signal.getsignal(number) == self._come:  # else the forward has set another
                signal.signal(number, own)

    def __exit__(self, kind, why, trace):
        if self in _gates:
            _gates.remove(self)
            self._give_back()
        self.deliver()
        raised, self.raised = self.raised, None
        if raised is not None and raised is not why:
            raise raised


def pass_on():
    """Raises what a handler has raised, and somebody on the way took for a fault of his own."""
    if _gates and _is_main() and _gates[-1].raised is not None:
        raise _gates[-1].raised


class opened:
    """Around what is the user's own: a handler runs at once.  The innermost of all, so that nothing is to be done behind it."""

    def __enter__(self):
        pass_on()
        self._before = [(gate, gate.is_open) for gate in _gates] if _is_main() else []
        for gate, _ in self._before:
            gate.is_open = True

    def __exit__(self, kind, why, trace):
        for gate, was in self._before:
            gate.is_open = was
        if kind is None and self._before:
            self._before[-1][0].deliver()
