# SPDX-License-Identifier: MIT
"""Ctrl-C while something of the user's is held in another state: it waits until all is put back.

A handler of Python's may run, and raise, between any two steps of a program, also between those that put a mode of torch or
the tensors of a model back.  So the handlers of signals that people raise from (Ctrl-C, alarms, an end that is asked for) are
exchanged for one that lets them run where the user's own code does, and else notes that they are to run when all is over.
"""
import os
import signal
import sys
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
# Code that takes something away and puts it back, in steps: what is raised there is lost on its way, or the second step is.
_IN_STEPS = ("contextlib", "torch.overrides", "torch.utils._python_dispatch")
_gates = []  # of the main thread, the innermost last: in other threads no handler runs


def _is_main():
    return threading.current_thread() is threading.main_thread()


def _module_of(frame):
    return str(frame.f_globals.get("__name__")) if frame is not None else ""


def _callers_frame():
    """The innermost frame that is not ours."""
    frame = sys._getframe(1)
    while _module_of(frame).startswith("sonde."):
        frame = frame.f_back
    return frame


def _is_in_steps(frame):
    """Of our own, which runs in the user's forward, only what torch calls for each of its functions is not; of torch, what its contexts
    do when they are entered and left, and all that this calls."""
    name = _module_of(frame)
    if name.startswith("sonde."):
        return frame.f_code.co_name != "__torch_function__"
    while name in _IN_STEPS or name.partition(".")[0] == "torch":
        if name in _IN_STEPS or frame.f_code.co_name in ("__enter__", "__exit__"):
            return True
        frame = frame.f_back
        name = _module_of(frame)
    return False


def _comes_from(why, raised):
    """Did it come while the other was handled?"""
    for _ in range(16):
        if why is None or why is raised:
            break
        why = why.__cause__ or why.__context__
    return why is not None and why is raised


class held:
    """`with held():` what is set up and put back in here is not interrupted, but where it is `opened()`."""

    def __init__(self):
        self._own, self._came, self.is_open, self.is_over, self.raised = {}, [], False, False, None
        self.thread = threading.get_ident()

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
                self.give_back()
                raise
            _gates.append(self)
        return self

    def _come(self, number, frame):
        if self.is_over:  # somebody has kept us for his own handler's sake
            self._own[number](number, frame)
        elif self.is_open and not _is_in_steps(frame) and not self._is_on_its_way():
            self._run(number, frame)
        else:
            self._came.append(number)

    def _is_on_its_way(self):
        """What a handler has raised runs what stands behind `finally` and `with` now; a forward that has caught it goes on."""
        return self.raised is not None and _comes_from(sys.exc_info()[1], self.raised)

    def _run(self, number, frame):
        try:
            self._own[number](number, frame)
        except BaseException as why:
            self.raised = why
            raise

    def deliver(self):
        """Runs every deferred handler, even if others raise."""
        if self._came:
            try:
                self._run(self._came.pop(0), _callers_frame())
            finally:
                self.deliver()

    def give_back(self):
        """Each of them, whatever a handler raises that runs as soon as it is back."""
        self.is_over = True
        self._give_back(list(self._own.items()))

    def _give_back(self, left):
        if left:
            number, own = left.pop()
            try:
                if signal.getsignal(number) == self._come:  # else the forward has set another
                    signal.signal(number, own)
            finally:
                self._give_back(left)

    def __exit__(self, kind, why, trace):
        if self in _gates:
            _gates.remove(self)
            try:
                self.give_back()
            finally:
                self.deliver()
        raised, self.raised = self.raised, None
        if raised is not None and raised is not why and _comes_from(why, raised):
            raise raised


def pass_on(why):
    """Raises what a handler has raised, where somebody on the way made a fault of the model's of it."""
    raised = _gates[-1].raised if _gates and _is_main() else None
    if raised is not None and _comes_from(why, raised):
        raise raised


class opened:
    """Around what is the user's own: a handler runs at once.  The innermost of all, so that nothing is to be done behind it."""

    def __enter__(self):
        self._before = [(gate, gate.is_open) for gate in _gates] if _is_main() else []
        for gate, _ in self._before:
            gate.is_open = True

    def __exit__(self, kind, why, trace):
        for gate, was in self._before:
            gate.is_open = was
        if kind is None and self._before:
            self._before[-1][0].deliver()


def _renew():
    """In a child that another thread has forked nobody counts."""
    while _gates and _gates[-1].thread != threading.get_ident():
        _gates.pop().give_back()


os.register_at_fork(after_in_child=_renew)
