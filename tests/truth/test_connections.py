# SPDX-License-Identifier: MIT
# quiet
"""Bytes of TCP connections by process, against programs that know them to the byte."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import TARGETS, Capture, equal, need, run_tests, sonde, sonde_run  # noqa: E402

PROGRAM = os.path.join(TARGETS, "connections.py")


def measured(folder, kind, **how):
    result, path = sonde_run(folder, PROGRAM, kind, **how)
    equal(result.status, 0, "exit status (%r)" % result.err)
    return json.loads(result.out.splitlines()[-1]), Capture(path)


def exact(folder, kind, **how):
    """Each process to the byte, and their sum."""
    truth, c = measured(folder, kind, **how)
    rows = c.processes()
    for pid, bytes_of in truth.items():
        row = rows[int(pid)]
        equal({"received": row["tcp_received"], "sent": row["tcp_sent"]}, bytes_of, "bytes of process %s" % pid)
    for way in ("received", "sent"):
        equal(sum(row["tcp_" + way] for row in rows.values()), sum(b[way] for b in truth.values()), "bytes %s by all" % way)


def test_both_ends_to_the_byte(folder):
    exact(folder, "one")


def test_many_connections_of_both_families(folder):
    exact(folder, "several")


def test_a_shared_socket_counts_once(folder):
    exact(folder, "shared")


def test_a_socket_handed_to_a_child_is_the_childs(folder):
    exact(folder, "handed")


def test_no_tcp_is_zero(folder):
    exact(folder, "none")


def test_another_namespace(folder):
    need(os.geteuid() == 0, "root, to enter another network namespace")
    exact(folder, "elsewhere")


def test_a_connection_once_seen_is_counted_to_its_end(folder):
    truth, c = measured(folder, "closed")
    for pid, bytes_of in truth.items():
        row = c.processes()[int(pid)]
        equal(row["tcp_sent"], bytes_of["sent"], "bytes sent")
        # The end of a connection has a place in the count of its bytes.
        assert row["tcp_received"] - bytes_of["received"] in (0, 1), row["tcp_received"]


def test_the_sum_never_falls(folder):
    truth, c = measured(folder, "closed")
    for pid in truth:
        sent = [v for v in c.readings("tcp_sent", int(pid)) if v is not None]
        assert len(sent) >= 3, "only %d readings" % len(sent)
        equal(sent, sorted(sent), "readings in order")


def test_brief_connections_may_be_missed_and_that_is_said(folder):
    truth, c = measured(folder, "brief")
    for pid, bytes_of in truth.items():
        row = c.processes()[int(pid)]
        assert 0 <= row["tcp_sent"] <= bytes_of["sent"], row["tcp_sent"]
    said = sonde("collectors").out
    assert "opened and closed between two looks" in " ".join(said.split()), said


def test_it_can_be_left_out(folder):
    truth, c = measured(folder, "several", options=["--no-rss-tcp"])
    for row in c.processes().values():
        assert "tcp_sent" not in row, row


run_tests(globals())
