# SPDX-License-Identifier: MIT
# limit: 1200
"""The source package and the wheel made from it: whole, recorded truly, and gone when uninstalled."""
import base64
import csv
import glob
import hashlib
import os
import sys
import sysconfig
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PYTHON, SRC, equal, once, run, run_tests  # noqa: E402

VERSION = "0.1.0"


def plain_env():
    """As a newcomer's shell: no SONDE*, no PYTHON*, no environment active."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SONDE", "PYTHON")) and k != "VIRTUAL_ENV"}


def must(command, **how):
    result = run(command, env=plain_env(), limit=900, **how)
    assert result.status == 0, "%s: status %d: %s" % (" ".join(command), result.status, (result.out + result.err)[-1500:])
    return result


def test_pip_uninstall_leaves_nothing(folder):
    top = os.path.join(folder, "other")
    must([PYTHON, "-m", "venv", top])
    python = os.path.join(top, "bin", "python")
    wheel = build_wheel()
    before = everything(top)
    must([python, "-m", "pip", "install", "--no-index", "--no-compile", "--disable-pip-version-check", wheel])
    assert everything(top) != before
    must([python, "-m", "pip", "uninstall", "-y", "--disable-pip-version-check", "sonde"])
    left = [p for p in everything(top) - before if "__pycache__" not in p]
    equal(left, [], "files left behind")


def everything(top):
    return {os.path.join(d, f) for d, _, names in os.walk(top) for f in names}


@once
def build_wheel():
    """The wheel, made from the source package: so both are seen to be whole."""
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), "wheels")
    os.makedirs(out, exist_ok=True)
    code = "import sys; sys.path.insert(0, %r); import sonde_build; print(sonde_build.build_sdist(sys.argv[1]))" % os.path.join(SRC, "tools")
    name = must([PYTHON, "-B", "-c", code, out]).out.strip()
    equal(name, "sonde-%s.tar.gz" % VERSION)
    must(["tar", "-xzf", name], cwd=out)
    tree = os.path.join(out, name[:-len(".tar.gz")])
    assert os.path.exists(os.path.join(tree, "PKG-INFO"))
    must([PYTHON, "-m", "pip", "wheel", "--no-index", "--no-deps", "--disable-pip-version-check", "-w", out, tree])
    (wheel,) = glob.glob(os.path.join(out, "*.whl"))
    return wheel


def test_the_wheel_is_named_and_recorded_as_it_is(folder):
    wheel = build_wheel()
    short = "cp%d%d" % sys.version_info[:2]
    equal(os.path.basename(wheel), "sonde-%s-%s-%s-linux_x86_64.whl" % (VERSION, short, short))
    with zipfile.ZipFile(wheel) as z:
        rows = {row[0]: row for row in csv.reader(z.read("sonde-%s.dist-info/RECORD" % VERSION).decode().splitlines())}
        equal(sorted(rows), sorted(z.namelist()), "what RECORD lists")
        for name in z.namelist():
            if not name.endswith("/RECORD"):
                data = z.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                equal(rows[name][1:], ["sha256=" + digest, str(len(data))], "record of " + name)
        for name in ("sonde/bin/sonde", "sonde-%s.data/scripts/sonde" % VERSION, "sonde/_sonde" + sysconfig.get_config_var("EXT_SUFFIX")):
            assert z.getinfo(name).external_attr >> 16 & 0o111, "%s is not executable" % name


run_tests(globals())
