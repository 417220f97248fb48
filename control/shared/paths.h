/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - paths and names on the user's machine and in ac-host
 */
#ifndef CONTROL_SHARED_PATHS_H
#define CONTROL_SHARED_PATHS_H

/* Inside ac-host. $AC_HOME of the user's machine is bind-mounted here. */
#define AC_STATE "/var/lib/ac"
#define AC_STATE_DB AC_STATE "/ac.db"
#define AC_STATE_SOCK AC_STATE "/run/acd.sock" /* HTTP API */
#define AC_STATE_MOUNT_SOCK AC_STATE "/run/mount.sock" /* workspaces by fd */
/* Sockets of ac-edge, and of acd for it. ac-edge sees this folder alone. */
#define AC_STATE_EDGE AC_STATE "/run/edge"
#define EDGE_SOCK_NAME "acd.sock" /* no service can have this name */
#define EDGE_PORT_SOCK "port.%u" /* acd's, of a published port, by its id */
#define EDGE_DIR "/run/ac-edge" /* the folder in its own container */
#define EDGE_PROGRAM AC_LIBEXEC "/ac-edge"
#define AC_STATE_INSTANCES AC_STATE "/instances"
#define AC_STATE_VOLUMES AC_STATE "/volumes" /* storage/volumes.h of acd */
#define AC_STATE_LOG AC_STATE "/log"
#define AC_STATE_BLUEPRINTS AC_STATE "/blueprints" /* the user's own */
#define AC_STATE_PRESETS AC_STATE "/presets" /* for blueprints; the user's */
#define AC_STATE_POLICY \
	AC_STATE "/policy" /* policy.yaml, machine.yaml, agents/ */
/* A CA for sandboxes to trust, PEM; made by images/setup/build-env.sh. */
#define AC_STATE_CA_EXTRA AC_STATE "/ca/extra.pem"
/* Proxy and registries for builds; made by images/setup/build-env.sh. */
#define AC_STATE_BUILD_ENV AC_STATE "/cache/build-env"
#define AC_STATE_VAULT AC_STATE "/vault" /* real tokens, sealed */
#define AC_STATE_SERVICES AC_STATE "/services.json" /* net/services.h */
/* The preset of the machine's package registries. */
#define AC_STATE_MACHINE AC_STATE_POLICY "/machine.yaml"
#define AC_STATE_AUDIT AC_STATE_LOG "/audit" /* written by the gateway */
#define AC_SHARE "/usr/share/ac" /* images/, blueprints/ as shipped */
#define AC_SHARE_KINDS AC_SHARE "/blueprints/credentials"
#define AC_SHARE_PRESETS AC_SHARE "/blueprints/presets"
#define AC_LIBEXEC "/usr/libexec/ac" /* runsc, ac-runtime, init-guard */
#define AC_RUN "/run/ac" /* tmpfs of ac-host */
#define AC_RUNTIME_SOCK AC_RUN "/runtime.sock"
#define AC_STEP_SOCK AC_RUN "/step.sock" /* acd's, for steps of builds */
#define AC_STEPS AC_RUN "/steps" /* their runsc's state, and ID.pid of each */
#define HOST_RESOLV_CONF AC_RUN "/resolv.conf" /* shown to every sandbox */
#define AC_MOUNTS AC_RUN "/mnt" /* <instance>/{workspace,home,skills,…} */
#define AC_MNT "/mnt" /* in a sandbox: the mounts of its blueprint */
#define AC_SKILLS "/usr/share/agent-skills" /* in a sandbox: <skill>/ */
#define AC_GATE "/run/gate" /* readable for the gateway, which is not root */
#define AC_GATE_SOCK AC_RUN "/gate.sock" /* its admin socket */
#define AC_ENGINE_SOCK "/run/docker.sock" /* the nested engine */
/* The user's own runsc (RUNSC=PATH); used in place of ours. */
#define AC_STATE_RUNSC AC_STATE "/runtime/runsc"

/* In acd's environment: the machine's pid_max, which is not visible in
 * ac-host's PID namespace. */
#define AC_ENV_PID_MAX "AC_PID_MAX"

#define AC_HOST_NAME "ac-host" /* outer container; AC_HOST overrides */
#define AC_HOST_VOLUME "ac-docker" /* <AC_HOST>-docker when overridden */
#define AC_BRIDGE "ac0"
#define AC_GATEWAY "172.20.0.53"
#define AC_SUBNET "172.20.0.0/16"
/* Of the bridge and all its ports, in bytes. Nothing on them leaves the machine:
 * the gateway ends every connection, and sends with its own link's. gVisor pays
 * for each packet, so these are nearly as large as IPv4 has them (65,535); a
 * round number below leaves room for link headers. */
#define AC_MTU 65000u

#define AC_AGENT_UID 1000u
#define AC_NAME_MAX 63u /* instance and blueprint names */

#endif
