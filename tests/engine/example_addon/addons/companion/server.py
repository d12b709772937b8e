"""A companion server as plugins have them: answers on its port, and says whom it belongs to."""
import argparse
import http.server
import os
import signal
import sys


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = "companion of %s\n" % os.environ.get("TETHER_OWNER_PID", "nobody")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
http.server.HTTPServer(("127.0.0.1", parser.parse_args().port), Answer).serve_forever()
