# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# vscode.sh - what an editor's remote mode types into `ssh -T -D PORT HOST bash`:
# it says where it is, starts a server that outlives this shell, and says at which
# port of loopback that listens. Then the editor talks to it through -D.
echo "begin: $(uname -s) $(id -un)"
dir=$HOME/.editor-server
mkdir -p "$dir"
cat >"$dir/server.py" <<'END'
import http.server
import sys


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = ("server at %s" % self.path).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
print("listeningOn==%d==" % server.server_address[1], flush=True)
server.serve_forever()
END
nohup python3 "$dir/server.py" >"$dir/log" 2>&1 </dev/null &
n=0
until grep -o 'listeningOn==[0-9]*==' "$dir/log" || [ $n -eq 300 ]; do
	n=$((n + 1))
	sleep 0.1
done
echo "end: ready"
# The shell stays as long as the connection does.
cat >/dev/null
