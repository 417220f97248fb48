# SPDX-License-Identifier: Apache-2.0
"""conf.py - the candidates and their settings, each as it likes best

Every one has one worker on one processor, the same upstream and the same
limits, buffers as its manual recommends for this work, and no log unless
`log` is asked for; then it writes its access log into a file.
"""

import resource

# Two a tunnel and some for pipes; a machine that allows fewer gets fewer tunnels.
FILES = min(200000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
MAXCONN = min(45000, FILES * 2 // 5 - 200)

GATE = "172.20.0.53"  # where all of them listen
CLIENT = "172.20.0.2"
SLOW = "172.20.0.3"
SINK = "198.51.100.10"
PORT = 9443  # of the sink, and so the one that is asked for

HAPROXY = """
global
    nbthread 1
    maxconn {maxconn}
    {log_global}
defaults
    mode tcp
    {log}
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
frontend sni
    bind {gate}:8443 backlog 8192
    tcp-request inspect-delay 5s
    acl ok req.ssl_sni,lower -m end .test
    tcp-request content accept if {{ req.ssl_hello_type 1 }} ok
    tcp-request content reject if {{ req.ssl_hello_type 1 }}
    tcp-request content reject if WAIT_END
    default_backend b
backend b
    option splice-auto
    server s {sink}:{port}
"""

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
worker_processes 1;
worker_rlimit_nofile {files};
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.err crit;
events {{ worker_connections 60000; }}
stream {{
  log_format line '$remote_addr $time_iso8601 $ssl_preread_server_name $status '
                  '$bytes_sent $bytes_received $session_time';
  {log}
  map $ssl_preread_server_name $up {{ hostnames; .test {sink}:{port}; default ""; }}
  server {{
    listen {gate}:8444 backlog=8192;
    ssl_preread on; preread_buffer_size 16k; preread_timeout 5s;
    proxy_connect_timeout 5s; proxy_timeout 1h; tcp_nodelay on;
    proxy_pass $up;
  }}
}}
"""

SQUID = """
visible_hostname eb
http_port {gate}:8448 ssl-bump tls-cert={dir}/ca.pem generate-host-certificates=on dynamic_cert_mem_cache_size=4MB
acl CONNECT method CONNECT
acl okd dstdomain .test
acl oks ssl::server_name .test
acl okport port {port}
acl step1 at_step SslBump1
http_access deny !okport
http_access allow CONNECT okd
http_access deny all
ssl_bump peek step1
ssl_bump splice oks
ssl_bump terminate all
cache deny all
cache_mem 8 MB
hosts_file {dir}/hosts
dns_nameservers {gate}
access_log {log}
cache_log {dir}/squid.log
pid_filename {dir}/squid.pid
max_filedescriptors {files}
shutdown_lifetime 1 seconds
cache_effective_user proxy
sslcrtd_program /usr/lib/squid/security_file_certgen -s {dir}/ssldb -M 4MB
sslcrtd_children 1 startup=1
"""

UNBOUND = """
server:
  interface: {gate}@5301
  access-control: 0.0.0.0/0 allow
  num-threads: 1
  chroot: ""
  username: ""
  use-syslog: no
  do-daemonize: no
  so-rcvbuf: 1m
  local-zone: "." always_refuse
  local-zone: "allowed.test." static
  local-data: "a.allowed.test. 60 IN A 192.0.2.1"
  module-config: "iterator"
remote-control:
  control-enable: no
"""

DNSMASQ = """
port=5302
listen-address={gate}
bind-interfaces
no-resolv
no-hosts
user=root
address=/a.allowed.test/192.0.2.1
address=/#/
"""

POLICY = """
version: 1
defaults:
  ports: [{port}]
  timeouts: {{ connect: 5s, idle: 1h, tunnel_max: 12h }}
hosts:
  a.test: [{sink}]
  bulk.test: [{sink}]
  hold.test: [{sink}]
{deny}
agents:
  - id: good
    match: {{ address: {client} }}
    allow:
      - {{ id: test, names: [a.test, bulk.test, hold.test, a.allowed.test], use: tunnel }}
    limits: {limits}
  - id: slow
    match: {{ address: {slow} }}
    allow:
      - {{ id: test-slow, names: [a.test], use: tunnel }}
    limits: {limits}
"""
LIMITS = ("{ conns: 100000, half_open: 50000, new_conns: 1000000/s, "
          "dns: { qps: 1000000, new_names: 1000000/h, "
          "new_subdomains: 1000000/h } }")


def policy(rules):
    """The gateway's policy, with @rules denied names of other zones."""
    deny = ""
    if rules:
        names = ", ".join(f"h{i}.zone{i % 997}.invalid" for i in range(rules))
        deny = f"deny:\n  - {{ id: many, names: [{names}] }}\n"
    return POLICY.format(port=PORT, sink=SINK, client=CLIENT, slow=SLOW,
                         deny=deny, limits=LIMITS)


def fill(text, **more):
    return text.format(gate=GATE, sink=SINK, port=PORT, files=FILES,
                       maxconn=MAXCONN, **more)
