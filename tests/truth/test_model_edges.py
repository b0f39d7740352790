# SPDX-License-Identifier: MIT
"""Models at the edges of what torch allows: what they hold, what they are given, how they fail (targets/model_edges.py).

Needs torch in one of the environments of the tests; CI has it for one version.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import run_tests, target_is_right


def right(word, at_least):
    target_is_right("model_edges.py", word, at_least)


def test_attributes_in_slots_are_put_back(folder):
    right("slots", 48)


def test_inputs_of_classes_derived_from_tensor(folder):
    right("classes", 15)


def test_nested_tensors_as_inputs(folder):
    right("nested", 49)


def test_sums_of_more_than_64_bits_are_told(folder):
    right("beyond", 20)


def test_exceptions_of_the_backward_are_told_as_such(folder):
    right("backwards", 12)


def test_modules_in_modules_as_deep_as_torch_runs_them(folder):
    right("deep", 15)


def test_interpolation_is_refused_where_torch_refuses_it(folder):
    right("resized", 31)


def test_whole_numbers_that_a_model_looks_at(folder):
    right("numbers", 14)


def test_indices_that_are_out_of_range_are_refused(folder):
    right("indices", 20)


def test_what_is_given_stays_the_callers(folder):
    right("given", 22)


run_tests(globals())
