# SPDX-License-Identifier: MIT
"""What is raised where there is nothing to sample; `python -m profiling.sampling` prints it, with status 1."""


class SamplingProfilerError(Exception):
    """The base of the others."""


class SamplingUnknownProcessError(SamplingProfilerError):
    def __init__(self, pid):
        self.pid = pid
        super().__init__("Process with PID '%s' does not exist." % pid)


class SamplingScriptNotFoundError(SamplingProfilerError):
    def __init__(self, script_path):
        self.script_path = script_path
        super().__init__("Script '%s' not found." % script_path)


class SamplingModuleNotFoundError(SamplingProfilerError):
    def __init__(self, module_name):
        self.module_name = module_name
        super().__init__("Module '%s' not found." % module_name)
