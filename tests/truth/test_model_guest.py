# SPDX-License-Identifier: MIT
"""A count of a model as a guest in its program: graphs of others, signals, classes that refuse, memory (targets/model_guest.py).

Needs torch in one of the environments of the tests; CI has it for one version.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import run_tests, target_is_right


def right(word, at_least):
    target_is_right("model_guest.py", word, at_least)


def test_a_backward_goes_into_no_other_graph(folder):
    right("graphs", 28)


def test_handlers_of_signals_wait_while_a_model_is_not_as_it_was(folder):
    right("signals", 22)


def test_an_interrupt_at_any_moment_leaves_nothing(folder):
    right("interrupts", 8)


def test_what_refuses_is_put_back_and_what_is_refused_is_counted(folder):
    right("refusals fakes", 9)


def test_what_modules_hold_is_as_it_was(folder):
    right("held", 20)


def test_a_second_count_draws_the_same(folder):
    right("drawn", 4)


def test_a_count_takes_little_memory(folder):
    right("room", 4)


run_tests(globals())
