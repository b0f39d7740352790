# SPDX-License-Identifier: MIT
# limit: 900
"""Models of torch: known networks and small modules give the published integers, and nothing is left behind.

Needs torch in one of the environments of the tests; CI has it for one version.  The numbers stand in
targets/model_cases.py, targets/model_care.py, targets/model_memory.py and targets/torch_networks.py.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from helpers import run_tests, target_is_right


def right(words, at_least, target="model_cases.py", needs=("torch",)):
    target_is_right(target, words, at_least, needs)


def test_small_modules_in_every_way(folder):
    right("cases", 25)


def test_known_networks(folder):
    right("networks", 18)


def test_backward(folder):
    right("backward", 12)


def test_nothing_is_left_behind(folder):
    right("residue", 48)


def test_what_the_caller_lends_is_not_written_to(folder):
    right("borrowed", 32)


def test_names_of_other_tools_run_it_as_they_do(folder):
    right("shims", 42)


def test_parameters_once_and_all_put_back(folder):
    right("weights", 57)


def test_shapes_of_calls(folder):
    right("shapes", 4)


def test_operators_of_all_kinds(folder):
    right("operators", 23)


def test_what_cannot_be_run_says_why(folder):
    right("errors", 74)


def test_times_of_layers(folder):
    right("times", 17)


def test_memory(folder):
    right("memory", 7)


def test_attention_keeps_what_a_processor_keeps(folder):
    right("attention", 382, "model_memory.py")


def test_layers_keep_what_they_keep_with_data(folder):
    right("layers", 130, "model_memory.py")


def test_operators_give_what_they_give_with_data(folder):
    right("outputs", 5, "model_memory.py")


def test_what_a_block_runs(folder):
    right("counting", 9)


def test_hooks_inputs_and_memory_of_the_user(folder):
    right("hooks inputs generators fit", 36, "model_care.py")


def test_models_of_many_kinds(folder):
    right("kinds", 56, "model_care.py")


def test_operators_that_take_functions(folder):
    right("functions", 22, "model_care.py")


def test_the_compiler_of_torch_is_not_loaded_for_a_count(folder):
    right("imports", 17, "model_care.py")
    right("disabled", 2, "model_care.py")


def test_other_models_run_on_meanwhile(folder):
    right("threads", 2, "model_care.py")


def test_models_of_transformers(folder):
    right("transformers", 10, "model_care.py", ("torch", "transformers"))


run_tests(globals())
