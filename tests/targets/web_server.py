# SPDX-License-Identifier: MIT
"""web_server.py FRAMEWORK [KEEP SLOWER_THAN]: an application behind sonde.web on a port of 127.0.0.1, which is printed.

/sync/COLOUR/N and /async/COLOUR/N call COLOUR N times, and other requests run between any two; /stream/COLOUR/N does so
while it answers, a part each time, and Django's /other-stream/ with async parts under WSGI, and sync ones under ASGI.
FRAMEWORK: fastapi, flask, django-wsgi, django-asgi.  Ends with its stdin.
"""
import asyncio
import os
import socket
import sys
import threading
import time
import warnings

MIDDLEWARE = {"keep": sys.argv[2], "slower_than": float(sys.argv[3])} if len(sys.argv) > 2 else {}


def red():
    sum(range(10000))


def blue():
    sum(range(10000))


def green():
    sum(range(10000))


COLOURS = {"red": red, "blue": blue, "green": green}


def sync_work(colour, n):
    for _ in range(n):
        COLOURS[colour]()
        time.sleep(0.002)
    return colour


async def async_work(colour, n):
    for _ in range(n):
        COLOURS[colour]()
        await asyncio.sleep(0.002)
    return colour


def parts(colour, n):
    for _ in range(n):
        COLOURS[colour]()
        time.sleep(0.002)
        yield colour


async def async_parts(colour, n):
    for _ in range(n):
        COLOURS[colour]()
        await asyncio.sleep(0.002)
        yield colour


def fastapi():
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse, StreamingResponse
    from sonde.web import ASGIMiddleware

    app = FastAPI()
    app.add_middleware(ASGIMiddleware, **MIDDLEWARE)

    @app.get("/sync/{colour}/{n}")
    def sync_endpoint(colour: str, n: int):
        return PlainTextResponse(sync_work(colour, n))

    @app.get("/async/{colour}/{n}")
    async def async_endpoint(colour: str, n: int):
        return PlainTextResponse(await async_work(colour, n))

    @app.get("/stream/{colour}/{n}")
    async def stream_endpoint(colour: str, n: int):
        return StreamingResponse(async_parts(colour, n), media_type="text/plain")

    return app


def flask():
    from flask import Flask, Response
    from sonde.web import WSGIMiddleware

    app = Flask(__name__)
    app.wsgi_app = WSGIMiddleware(app.wsgi_app, **MIDDLEWARE)

    @app.route("/sync/<colour>/<int:n>")
    def sync_endpoint(colour, n):
        return sync_work(colour, n)

    @app.route("/stream/<colour>/<int:n>")
    def stream_endpoint(colour, n):
        return Response(parts(colour, n), mimetype="text/plain")

    return app


def django(kind):
    from django.conf import settings
    from django.http import HttpResponse, StreamingHttpResponse
    from django.urls import path

    warnings.filterwarnings("ignore", "StreamingHttpResponse must consume")  # the other kind of parts
    def sync_endpoint(request, colour, n):
        return HttpResponse(sync_work(colour, n))

    async def async_endpoint(request, colour, n):
        return HttpResponse(await async_work(colour, n))

    def stream_endpoint(request, colour, n):
        return StreamingHttpResponse((async_parts if kind == "asgi" else parts)(colour, n))

    def other_stream_endpoint(request, colour, n):
        return StreamingHttpResponse((parts if kind == "asgi" else async_parts)(colour, n))

    settings.configure(DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x",
                       MIDDLEWARE=["sonde.web.DjangoMiddleware", "django.middleware.common.CommonMiddleware"],
                       **({"SONDE_WEB": MIDDLEWARE} if MIDDLEWARE else {}))
    globals()["urlpatterns"] = [path("sync/<colour>/<int:n>", sync_endpoint), path("async/<colour>/<int:n>", async_endpoint),
                                path("stream/<colour>/<int:n>", stream_endpoint), path("other-stream/<colour>/<int:n>", other_stream_endpoint)]
    import django

    django.setup()
    if kind == "asgi":
        from django.core.asgi import get_asgi_application as made
    else:
        from django.core.wsgi import get_wsgi_application as made
    return made()


def serve_asgi(app, listening):
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    threading.Thread(target=end_with_stdin, args=(lambda: setattr(server, "should_exit", True),), daemon=True).start()
    server.run(sockets=[listening])


def serve_wsgi(app, listening):
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

        def server_bind(self):
            self.socket.close()
            self.socket = listening
            self.server_address = listening.getsockname()
            self.server_name, self.server_port = self.server_address
            self.setup_environ()

    class Handler(WSGIRequestHandler):
        def log_message(self, *words):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.set_app(app)
    threading.Thread(target=end_with_stdin, args=(server.shutdown,), daemon=True).start()
    server.serve_forever()


def end_with_stdin(end):
    sys.stdin.read()
    end()


if __name__ == "__main__":
    framework = sys.argv[1]
    sys.modules[__name__.replace("__main__", "web_server")] = sys.modules["__main__"]
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    made = {"fastapi": fastapi, "flask": flask}.get(framework) or (lambda: django(framework.split("-")[1]))
    app = made()
    print(listening.getsockname()[1], flush=True)
    (serve_wsgi if framework in ("flask", "django-wsgi") else serve_asgi)(app, listening)
    os._exit(0)
