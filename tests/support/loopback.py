"""A server on the loopback address that stalls, truncates and lies as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What to answer to one request; the last answer of a list is repeated."""

    status: int = 200
    ranges: bool = True
    announce: int | None = None  # bytes that Content-Length adds to the truth, None: no Content-Length
    send: int | None = None  # bytes after which the connection is closed
    stall: int | None = None  # bytes after which nothing comes, with the connection open
    body: bytes | None = None  # instead of the file
    location: str = ""
    chunked: bool = False
    shift: int = 0  # bytes by which a part is another one than asked for


HONEST = Answer(announce=0)


@dataclass
class Loopback:
    content: bytes
    answers: list[Answer]
    port: int = 0
    requests: list[str | None] = field(default_factory=list)  # the Range of every request
    stalled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/file"

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def loopback(content: bytes, *answers: Answer) -> Iterator[Loopback]:
    """Serve until the block ends; all threads are over then."""
    state = Loopback(content, list(answers or (HONEST,)))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            state.requests.append(self.headers["Range"])
            give(self, state, state.next_answer())
            self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def give(handler: BaseHTTPRequestHandler, state: Loopback, answer: Answer) -> None:
    body = state.content if answer.body is None else answer.body
    start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-")) if handler.headers["Range"] else 0
    partial = answer.ranges and start > 0 and answer.status == 200
    if partial and start >= len(body):
        answer, partial, body = Answer(416, announce=0), False, b""
    handler.send_response(206 if partial else answer.status)
    if partial:
        start += answer.shift
        handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        body = body[start:]
    if answer.location:
        handler.send_header("Location", answer.location)
    if answer.chunked:
        handler.send_header("Transfer-Encoding", "chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    elif answer.announce is not None:
        handler.send_header("Content-Length", str(len(body) + answer.announce))
    handler.end_headers()
    try:
        handler.wfile.write(body[: answer.send if answer.stall is None else answer.stall])
        handler.wfile.flush()
    except ConnectionError:
        return
    if answer.stall is not None:
        state.stalled.set()
        state.over.wait()
