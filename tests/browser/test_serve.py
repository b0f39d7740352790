# SPDX-License-Identifier: MIT
"""`sonde view --serve`: who is let in, what queries answer, a capture that grows, and how it ends.

All but the last test speak HTTP themselves; that one looks at a growing capture in a real browser.
"""
import base64
import cProfile
import gzip
import http.client
import json
import os
import random
import signal
import struct
import subprocess
import threading

from browser import browse, helpers, need_browser
import made  # found by browser

MS = 10 ** 6


def capture(folder, name="x.sonde"):
    """Samples of f and g, 30 and 10, in four seconds; section train is open from 1 s to 3 s; a second thread has 10 in g."""
    c = made.Capture()
    process = c.track(made.PROCESS, 7, "python")
    main, other = c.track(made.THREAD, 7, "MainThread", process), c.track(made.THREAD, 8, "worker", process)
    module, f, g = c.function("<module>", "/x/app.py", 1), c.function("f", "/x/app.py", 10), c.function("g", "/x/app.py", 20)
    for i in range(40):
        c.sample(main, c.stack((module, 3), (f if i < 30 else g, 11)), (100 * i + 50) * MS, 1, made.GIL, cpu=9 * MS)
    for i in range(10):
        c.sample(other, c.stack((module, 5), (g, 21)), (400 * i + 75) * MS, 1, cpu=5 * MS)
    c.span(main, c.section("train"), 1000 * MS, 3000 * MS)
    return c.save(os.path.join(folder, name))


class Server:
    """The program, its port and its token, from the first line that it prints."""

    def __init__(self, *files, **how):
        command = [helpers.SONDE, "view", "--serve", "--no-open"] + list(how.get("words", ())) + list(files)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=helpers.clean_env())
        self.address = self.process.stdout.readline().decode().strip()
        place, _, self.token = self.address.partition("/#")
        self.port = int(place.rpartition(":")[2] or 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def ask(self, method, path, body=None, **headers):
        """(status, headers, body); the token is sent unless `token` says otherwise."""
        token = headers.pop("token", self.token)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["X-Sonde-Token"] = token
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        link.request(method, path, body=body, headers=sent)
        answer = link.getresponse()
        result = answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read()
        link.close()
        return result

    def state(self):
        return json.loads(self.ask("POST", "/state")[2])

    def wait_until_read(self):
        helpers.wait_for(lambda: self.state()["number"] > 0, "the first reading")

    def query(self, **query):
        status, _, body = self.ask("POST", "/query", json.dumps(query))
        helpers.equal(status, 200, "status of a query: %r" % body[:200])
        return json.loads(body)

    def packed(self, path, **query):
        status, _, body = self.ask("POST", path, json.dumps(query))
        helpers.equal(status, 200, "status of %s: %r" % (path, body[:200]))
        return gzip.decompress(body)

    def payload(self, path="/data", **query):
        raw = self.packed(path, **query)
        return json.loads(raw[4:4 + struct.unpack("<I", raw[:4])[0]].decode())

    def end(self, how):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out.decode(), err.decode()


def test_the_first_line_is_an_address_with_a_token(folder):
    with Server(capture(folder)) as server:
        helpers.equal((server.address.startswith("http://127.0.0.1:"), len(server.token)), (True, 32), server.address)
        with Server(capture(folder, "y.sonde")) as other:
            assert other.token != server.token and other.port != server.port


def test_the_page_comes_without_data_and_with_a_policy(folder):
    with Server(capture(folder)) as server:
        status, headers, body = server.ask("GET", "/", token=None)
        page = body.decode()
        helpers.equal((status, 'id="data"' in page, "app.py" in page, "<!--sonde:" in page), (200, False, False, False), "the page")
        policy = headers["content-security-policy"]
        for part in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "script-src 'sha256-"):
            helpers.contains(policy, part, "policy")
        helpers.equal((headers["cache-control"], headers["referrer-policy"]), ("no-store", "no-referrer"), "headers")


def test_strangers_are_refused(folder):
    with Server(capture(folder)) as server:
        ours = "127.0.0.1:%d" % server.port
        refused = [("GET", "/", dict(token=None, Host="evil.example")), ("GET", "/", dict(token=None, Host="evil.example:%d" % server.port)),
                   ("GET", "/", dict(token=None, Origin="http://evil.example")), ("POST", "/data", dict(token=None)),
                   ("POST", "/data", dict(token="0" * 32)), ("POST", "/data", dict(token=server.token[:-1])),
                   ("POST", "/query", dict(Origin="https://" + ours)), ("POST", "/query", dict(Origin="null")),
                   ("POST", "/state", dict(Host="localhost")), ("GET", "/data", dict(token=None)), ("GET", "/x.sonde", dict(token=None)),
                   ("GET", "/?token=" + server.token, dict(token=None, Host="evil.example"))]
        for method, path, headers in refused:
            status, _, body = server.ask(method, path, **headers)
            helpers.equal((status, b"app.py" in body), (403, False), "%s %s %s" % (method, path, headers))
        helpers.equal(server.ask("POST", "/data", Host=ours, Origin="http://" + ours)[0], 200, "status of our own page")
        for path in ("/x.sonde", "/etc/passwd", "/../x.sonde", "//etc/passwd"):
            helpers.equal(server.ask("POST", path)[0], 404, "status of %s" % path)


def test_data_is_that_of_the_page_in_a_file(folder):
    path = capture(folder)
    with Server(path) as server:
        server.wait_until_read()
        payload = server.payload()
    helpers.equal([v["name"] for v in payload["views"]][:1], ["functions"], "first view")
    helpers.equal((payload["title"], payload["sections"]), ("x.sonde", ["train"]), "title and sections")
    helpers.equal(helpers.sonde("report", path, "-o", os.path.join(folder, "x.html")).status, 0, "status of report")
    with open(os.path.join(folder, "x.html"), encoding="utf-8") as f:
        page = f.read()
    packed = page.split('id="data">', 1)[1].split("<", 1)[0]
    raw = gzip.decompress(base64.b64decode(packed))
    helpers.equal(json.loads(raw[4:4 + struct.unpack("<I", raw[:4])[0]].decode()), payload, "payload")


# What is asked, and the same in words of report.
QUESTIONS = [
    ({}, []),
    ({"from_ns": 1000 * MS, "to_ns": 2000 * MS - 1}, ["--from", "1s", "--to", "1999999999ns"]),
    ({"from_ns": 1000 * MS, "to_ns": 3000 * MS}, ["--from", "1s", "--to", "3s"]),
    ({"section": "train"}, ["--section", "train"]),
    ({"track": "7/8"}, ["--track", "7/8"]),
    ({"track": "7"}, ["--track", "7"]),
    ({"from_ns": 2000 * MS, "section": "train", "gil": True, "by": "line"}, ["--from", "2s", "--section", "train", "--gil", "--by", "line"]),
    ({"metric": "cpu", "mine": True, "idle": True, "by": "module"}, ["--metric", "cpu", "--mine", "--idle", "--by", "module"]),
    ({"from_ns": 1234567, "to_ns": 777 * MS}, ["--from", "1234567ns", "--to", "777ms"]),  # no ends of slices: read again
]


def test_queries_answer_as_report_does(folder):
    path = capture(folder)
    with Server(path) as server:
        server.wait_until_read()
        for views in ("functions", "functions,sections", "callers", "lines,threads"):
            for query, words in QUESTIONS:
                told = helpers.sonde("report", path, "--json", "--table", views, *words)
                helpers.equal(told.status, 0, "status of report %s: %s" % (words, told.err))
                wanted, got = json.loads(told.out), server.query(views=views, **query)
                for name in views.split(","):
                    helpers.equal(got.get(name), wanted.get(name), "%s of %s" % (name, query))
        helpers.equal(server.query(views="functions"), json.loads(helpers.sonde("report", path, "--json", "--table", "functions").out),
                      "all of it after the parts")


def parted(folder):
    """A capture of 16 chunks, a quarter of a second each, with sections that reach into others and readings."""
    draw = random.Random(3)
    c = made.Capture()
    for part in range(16):
        process = c.track(made.PROCESS, 7, "python")
        main = c.track(made.THREAD, 7, "MainThread" if part < 9 else "renamed", process)
        names = ["f%d" % draw.randrange(part + 2) for _ in range(20)]
        for i, name in enumerate(names):
            c.sample(main, c.stack((c.function("<module>", "/x/app.py", 1), 3), (c.function(name, "/x/app.py", 10), 11)), (250 * part + 12 * i) * MS, 1 + i % 3, cpu=MS)
        c.span(main, c.section("train" if part % 3 else "load"), draw.randrange(250 * part + 1) * MS, (250 * part + 200) * MS)
        c.memory(process, (250 * part + 7) * MS, (10 + part) << 20)
        if part < 15:
            c.cut()
    return c.save(os.path.join(folder, "parted.sonde"))


def in_order(table):
    """Rows with equal figures come in any order."""
    return sorted(table, key=json.dumps) if isinstance(table, list) else table


def test_windows_of_single_chunks_answer_as_report_does(folder):
    path, draw = parted(folder), random.Random(4)
    views = "functions,lines,threads,sections,series,processes"
    with Server(path) as server:
        server.wait_until_read()
        for _ in range(25):
            begin = draw.randrange(3900 * MS)
            end = begin + draw.randrange(1, 600 * MS)
            told = helpers.sonde("report", path, "--json", "--table", views, "--from", "%dns" % begin, "--to", "%dns" % end)
            helpers.equal(told.status, 0, "status of report: %s" % told.err)
            got, wanted = server.query(views=views, from_ns=begin, to_ns=end), json.loads(told.out)
            helpers.equal(set(got), set(wanted), "tables of %d to %d" % (begin, end))
            for name in wanted:
                helpers.equal(in_order(got[name]), in_order(wanted[name]), "%s of %d to %d" % (name, begin, end))


def test_a_view_of_a_part_comes_as_the_page_has_it(folder):
    with Server(parted(folder)) as server:
        server.wait_until_read()
        whole = {v["name"]: v for v in server.payload()["views"]}
        helpers.equal((whole["sections"]["asks"], whole["functions"]["asks"]), (["time", "thread", "section"], []), "what is asked")
        for name in ("sections", "processes", "series", "plot"):
            some = {"views": name, "from_ns": 300 * MS, "to_ns": 900 * MS}
            views = [whole[name], server.payload("/view", views=name)["views"][0], server.payload("/view", **some)["views"][0]]
            columns = [[c["name"] for c in v["data"].get("columns", [])] for v in views]
            helpers.equal(([v["shape"] for v in views], columns[1]), ([views[0]["shape"]] * 3, columns[0]), "shape and columns of %s" % name)
            assert [c for c in columns[0] if c in columns[2]] == columns[2], columns  # a peak of a process is of its whole run
            assert server.packed("/view", views=name) != server.packed("/view", **some), name
        helpers.equal(server.payload("/view", views="series", from_ns=3990 * MS, to_ns=3991 * MS)["views"], [], "readings of a moment without any")
        for query in ({"views": "functions"}, {"views": "nothing"}, {}, {"views": "sections", "track": "99"}):
            status, _, body = server.ask("POST", "/view", json.dumps(query))
            helpers.equal((status, body.count(b"\n") <= 1, len(body) > 10), (400, True, True), "answer to %r" % query)


def test_a_selection_on_the_page_moves_what_only_the_server_knows(folder):
    need_browser()
    path = parted(folder)
    with Server(path) as server:
        server.wait_until_read()
        seen = browse("serve.js", server.address, "parts")
    helpers.equal(seen["complaints"], [], "complaints")
    for name, part in seen["parts"].items():
        window = ["--from", "%dns" % round(part["from"] * 1e9), "--to", "%dns" % (round(part["to"] * 1e9) - 1)]
        rows = json.loads(helpers.sonde("report", path, "--json", "--table", name, *window).out)[name]
        helpers.equal((part["rows"], part["whole"]), (len(rows) + 1, 0), "%s from %s to %s" % (name, part["from"], part["to"]))
        assert rows and part["text"] != part["before"], part
    counts = [str(row["count"]) for row in json.loads(helpers.sonde("report", path, "--json", "--table", "sections", *window).out)["sections"]]
    helpers.equal(sorted(seen["parts"]["sections"]["counts"]), sorted(counts), "counts of sections")


def test_a_bad_query_is_one_sentence(folder):
    with Server(capture(folder)) as server:
        server.wait_until_read()
        for query, words in (("", "must be a JSON object"), ('{"views": "nothing"}', "nothing"), ('{"file": "x"}', 'no "file"'),
                             ('{"views": "functions", "section": "nosuch"}', "nosuch"), ('{"views": "functions", "track": "99"}', "99"),
                             ('{"views": "functions", "by": "color"}', '"by"')):
            status, _, body = server.ask("POST", "/query", query)
            helpers.equal(status, 400, "status of %r" % query)
            helpers.contains(body.decode(), words, "answer to %r" % query)
        helpers.equal(len(server.query(views="functions")["functions"]), 3, "functions after bad queries")


def test_a_shared_page_tells_no_folder_and_answers_no_query(folder):
    with Server(capture(folder), words=["--share"]) as server:
        server.wait_until_read()
        payload = server.payload()
        text = json.dumps(payload)
        helpers.equal(("/x/" in text, "app.py" in text), (False, True), "folders and files in the data")
        helpers.equal({tuple(v["asks"]) for v in payload["views"]}, {()}, "what the page would ask for")
        for path, views in (("/query", "functions"), ("/view", "sections")):
            status, _, body = server.ask("POST", path, json.dumps({"views": views}))
            helpers.equal((status, b"--share" in body, b"/x/" in body), (400, True, False), "answer to a query")


def test_shared_files_of_one_name_stay_two(folder):
    c = made.Capture()
    main = c.track(made.THREAD, 7, "MainThread", c.track(made.PROCESS, 7, "python"))
    for i, name in enumerate(("/x/same.py", "/y/same.py", "/x/same.py", "/z/other.py")):
        c.sample(main, c.stack((c.function("f", name, 10), 11)), i * MS, 1, cpu=MS)
    with Server(c.save(os.path.join(folder, "two.sonde")), words=["--share"]) as server:
        server.wait_until_read()
        payload = server.payload()
    helpers.equal(sorted(s for s in payload["strings"] if ".py" in s), ["other.py", "same.py", "same.py (2)"], "names of files")
    helpers.equal(payload["stacks"][0]["functions"]["name"]["n"], 3, "functions")
    source = next(view for view in payload["views"] if view["name"] == "source")
    helpers.equal(len(source["data"]["files"]), 3, "files with figures")


def test_it_ends_in_order(folder):
    for how in (signal.SIGINT, signal.SIGTERM):
        with Server(capture(folder, "%d.sonde" % how)) as server:
            server.wait_until_read()
            status, out, err = server.end(how)
            helpers.equal((status, out), (0, ""), "status and further output after %s: %s" % (how.name, err))


def test_the_browser_is_given_a_private_file_and_no_token(folder):
    script, seen = os.path.join(folder, "browser.sh"), os.path.join(folder, "seen")
    with open(script, "w") as f:
        f.write('echo "$1" >"%s.new"; cat "$1" >"%s.page"; stat -c %%a "$1" "${1%%/*}" >>"%s.new"; mv "%s.new" "%s"\n' % (seen, seen, seen, seen, seen))
    command = [helpers.SONDE, "view", "--serve", capture(folder)]
    environment = dict(helpers.clean_env(), BROWSER="sh " + script, TMPDIR=folder)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        address = process.stdout.readline().decode().strip()
        helpers.wait_for(lambda: os.path.exists(seen), "the browser")
        with open(seen) as f, open(seen + ".page") as page:
            (path, file_mode, folder_mode), html = f.read().split(), page.read()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    token = address.partition("#")[2]
    helpers.equal((len(token), token in path, file_mode, folder_mode), (32, False, "600", "700"), "the file")
    helpers.contains(html, 'content="0; url=%s"' % address, "the page")
    helpers.equal((process.returncode, os.path.exists(os.path.dirname(path))), (0, False), "status, and whether the folder is left")


def test_what_cannot_be_served_is_refused(folder):
    helpers.write(folder, "empty.sonde", "")
    cProfile.runctx("sum(range(9))", {}, {}, os.path.join(folder, "old.pstats"))
    taken = Server(capture(folder))
    with taken:
        for words, status, sentence in (
                (["--serve", "--port", str(taken.port), "x.sonde"], 1, "port %d of 127.0.0.1 is in use" % taken.port),
                (["--port", "8000", "x.sonde"], 2, "--port needs --serve"), (["--serve", "--port", "70000", "x.sonde"], 2, "--port must be"),
                (["--serve"], 2, "view needs a file"), (["--serve", "none.sonde"], 1, "none.sonde"),
                (["--serve", "empty.sonde"], 1, "empty.sonde"), (["--serve", "old.pstats"], 2, "open old.pstats without it")):
            done = helpers.sonde("view", "--no-open", *words, cwd=folder)
            helpers.equal((done.status, done.out), (status, ""), "%s: %s" % (words, done.err))
            helpers.contains(done.err, sentence, "%s" % words)


LONG = """
import os, time
def work(n):
    t = 0
    for i in range(n):
        t += i
    return t
while not os.path.exists("go"):
    work(20000)
"""


def test_a_capture_that_is_being_written_grows_on_the_page(folder):
    need_browser()
    helpers.write(folder, "long.py", LONG)
    program = subprocess.Popen([helpers.SONDE, "run", "-q", "-o", "x.sonde", "--python", helpers.PYTHON, "long.py"], cwd=folder,
                               env=helpers.clean_env())
    path = os.path.join(folder, "x.sonde")
    stop = threading.Timer(60, program.kill)
    stop.start()
    try:
        helpers.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 64, "the capture")
        with Server(path) as server:
            seen = browse("serve.js", server.address)
            helpers.equal(seen["complaints"], [], "complaints")
            here = server.address.split("#")[0]
            helpers.equal({r.split("#")[0] for r in seen["requests"]}, {here, here + "data", here + "state"}, "requests")
            assert seen["samples"][1] > seen["samples"][0] > 0, seen["samples"]
            helpers.equal((seen["view"], seen["search"]), ("Lines", "work"), "what was chosen before it grew")
            helpers.equal(seen["run"], "still goes on", "the run, in the head")
    finally:
        helpers.write(folder, "go", "")
        program.wait(60)
        stop.cancel()
    helpers.equal(program.returncode, 0, "status of the program")


def test_a_file_that_is_deleted_is_told_and_its_figures_stay(folder):
    need_browser()
    path = capture(folder)
    with Server(path) as server:
        server.wait_until_read()
        seen = browse("serve.js", server.address, path)
    helpers.equal(seen["complaints"], [], "complaints")
    helpers.equal(seen["before"], [50, "", 0], "samples, notice and run before")
    helpers.equal(seen["after"][0], 50, "samples after")
    helpers.contains(seen["after"][1], "x.sonde", "notice")


helpers.run_tests(globals())
