"""One process on one core with a thread for each connection of the load: of one, two and four processes with one thread
to 64 it was the fastest."""

import json

bind = "127.0.0.1:0"
workers = 1
worker_class = "gthread"
threads = 64
keepalive = 60


def post_worker_init(worker):
    port = worker.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": worker.pid}), flush=True)
