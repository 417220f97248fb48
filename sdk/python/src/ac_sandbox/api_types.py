# SPDX-License-Identifier: Apache-2.0
"""Types of the API. Made by tools/make.py: do not edit."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

class Error(TypedDict):
    error: "Failure"

class Failure(TypedDict):
    code: str
    message: str
    credential: NotRequired[str]
    image: NotRequired[str]
    key: NotRequired[str]
    instance: NotRequired[str]
    blueprint: NotRequired[str]
    state: NotRequired[str]

class Version(TypedDict):
    version: str
    build: str
    api: int
    pid1: bool
    stopping: bool

class StatusEngine(TypedDict):
    state: Literal['up', 'down', 'starting', 'backoff']
    restarts: int
    version: NotRequired[str]
    last_error: NotRequired[str]

class StatusGateway(TypedDict):
    state: Literal['up', 'down', 'starting', 'backoff']
    restarts: int
    version: NotRequired[str]
    last_error: NotRequired[str]
    audit: NotRequired[Literal['written', 'full']]

class StatusEdge(TypedDict):
    state: Literal['unused', 'down', 'up']
    reason: str

class StatusNetwork(TypedDict):
    state: Literal['closed', 'gateway', 'unknown']

class StatusRuntime(TypedDict):
    state: Literal['ok', 'refused', 'testing']
    isolation: NotRequired[str]
    version: NotRequired[str]
    reason: NotRequired[str]

class StatusInstances(TypedDict):
    running: int
    total: int

class StatusPoolsItem(TypedDict):
    blueprint: str
    size: int
    ready: int
    starting: int
    hits: int
    misses: dict[str, int]
    started: int
    lost: int
    last_error: str
    off: str

class StatusVault(TypedDict):
    state: Literal['open', 'locked', 'empty', 'unusable']
    key: NotRequired[Literal['file', 'passphrase', None]]
    entries: int
    expired: NotRequired[int]
    over: NotRequired[list[str]]
    reason: NotRequired[str]

class StatusDisk(TypedDict):
    state: Literal['fine', 'low', 'full']
    left: int
    total: int

class Status(TypedDict):
    state: Literal['ready', 'starting', 'degraded', 'stopping']
    uptime_s: int
    engine: "StatusEngine"
    gateway: "StatusGateway"
    edge: "StatusEdge"
    serve: "Serve"
    network: "StatusNetwork"
    runtime: "StatusRuntime"
    cgroup: Literal['v1', 'v2', '']
    instances: "StatusInstances"
    pools: list["StatusPoolsItem"]
    vault: NotRequired["StatusVault"]
    disk: NotRequired["StatusDisk"]
    memory_bytes: int
    progress: str

class Serve(TypedDict):
    state: Literal['closed', 'waiting', 'open', 'failed']
    address: "str | None"
    reason: "str | None"

class DoctorChecksItem(TypedDict):
    name: str
    ok: bool
    detail: str
    hint: str

class Doctor(TypedDict):
    checks: list["DoctorChecksItem"]

class DiskUseInstancesItemDisk(TypedDict):
    held: NotRequired[Literal['quota', 'file']]
    used: NotRequired[int]
    limit: NotRequired[int]
    files: NotRequired[int]
    files_limit: NotRequired[int]

class DiskUseInstancesItem(TypedDict):
    name: str
    workspace_bytes: "int | None"
    layer_bytes: "int | None"
    home_bytes: "int | None"
    log_bytes: "int | None"
    snapshots_bytes: "int | None"
    disk: "DiskUseInstancesItemDisk | None"

class DiskUseVolumesItem(TypedDict):
    name: str
    bytes: "int | None"

class DiskUse(TypedDict):
    hibernated_bytes: "int | None"
    images_bytes: "int | None"
    cache_bytes: "int | None"
    instances: list["DiskUseInstancesItem"]
    volumes: list["DiskUseVolumesItem"]
    disk_free_bytes: int
    disk_total_bytes: int

class PruneRequest(TypedDict):
    images: NotRequired["bool | None"]
    force: NotRequired["bool | None"]

class InstancePaths(TypedDict):
    workspace: str
    layer: str
    home: str
    log: str

class InstanceDiskUse(TypedDict):
    held: NotRequired[Literal['quota', 'file']]
    used: NotRequired[int]
    limit: NotRequired[int]
    files: NotRequired[int]
    files_limit: NotRequired[int]

InstanceMountsItem = TypedDict(
    "InstanceMountsItem",
    {
        "from": str,
        "to": str,
        "mode": Literal['ro', 'live', 'was_live'],
        "dev": int,
        "ino": int,
    },
)

class InstanceItemsItem(TypedDict):
    level: Literal['error', 'warning', 'info']
    text: str

class InstanceRevokedItem(TypedDict):
    credential: str
    host: str
    at: int

class Instance(TypedDict):
    name: str
    blueprint: str
    state: Literal['created', 'starting', 'running', 'paused', 'hibernated', 'stopping', 'stopped', 'expired', 'failed']
    reason: "str | None"
    exit_code: "int | None"
    created_at: int
    started_at: int
    finished_at: int
    address: "str | None"
    isolation: Literal['runsc', 'crun']
    cpus_milli: int
    memory: int
    pids: int
    timeout_ms: int
    gpus: "str | None"
    workspace: "str | None"
    workspace_mode: Literal['copy', 'live', 'ro', '']
    layer_since_ns: int
    layer_dev: int
    layer_ino: int
    auto_remove: bool
    detached: bool
    tty: bool
    workdir: "str | None"
    env: list[str]
    cmd: list[str]
    runs: int
    paths: "InstancePaths"
    guard: NotRequired["dict[str, str] | None"]
    disk_use: NotRequired["InstanceDiskUse | None"]
    image_ready: bool
    project: "str | None"
    workspace_dev: NotRequired[int]
    workspace_ino: NotRequired[int]
    mounts: list["InstanceMountsItem"]
    publish: list[str]
    volumes: list[str]
    phase: NotRequired[Literal['idle', 'ports', 'disk', 'policy', 'sandbox', 'replaced', 'guest', 'running', 'paused', 'hibernated', 'ending', 'asked', 'thaw', 'removal', 'files']]
    warnings: NotRequired[list[str]]
    egress: "Egress"
    items: NotRequired[list["InstanceItemsItem"]]
    touched_at: int
    expires_at: "int | None"
    runtime: "str | None"
    disk: int
    output: int
    ttl_ms: int
    idle_ms: int
    hibernate_ms: int
    credentials: list["Credential"]
    credentials_only: bool
    revoked: list["InstanceRevokedItem"]

class Egress(TypedDict):
    mode: Literal['locked', 'balanced', 'open', '']
    presets: list[str]
    allow: list[str]
    deny: list[str]
    push: NotRequired[Literal['ask', 'allow', 'deny']]
    services: NotRequired[list[str]]
    model_url: NotRequired[str]

class Credential(TypedDict):
    name: str
    mode: NotRequired[Literal['surrogate', 'handover', None]]
    env: NotRequired["str | None"]
    push: NotRequired[Literal['ask', 'allow', 'deny', None]]
    methods: NotRequired["list[str] | None"]
    paths: NotRequired["list[str] | None"]

class Breach(TypedDict):
    name: str
    limit: str
    text: str
    at: int

class Stats(TypedDict):
    name: NotRequired[str]
    cpu_ns: int
    memory: int
    memory_limit: int
    pids: int
    rx_bytes: int
    tx_bytes: int
    at_ns: int

class UsageUsageItem(TypedDict):
    name: str
    api: Literal['anthropic', 'openai', 'gemini']
    model: str
    requests: int
    errors: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    p50_ms: int
    p99_ms: int

class Usage(TypedDict):
    usage: list["UsageUsageItem"]

class Lint(TypedDict):
    ok: bool
    items: list["LintItem"]

class LintItem(TypedDict):
    level: Literal['error', 'warning', 'info']
    code: str
    text: str
    file: NotRequired[str]
    line: NotRequired[int]
    column: NotRequired[int]
    message: NotRequired[str]
    about: NotRequired[str]
    by: NotRequired[str]

class PresetRulesItemAllowItem(TypedDict):
    methods: list[str]
    paths: list[str]

class PresetRulesItemDenyItem(TypedDict):
    methods: list[str]
    paths: list[str]

class PresetRulesItem(TypedDict):
    id: str
    hosts: list[str]
    ports: list[str]
    proto: str
    use: Literal['tunnel', 'inspect']
    allow: list["PresetRulesItemAllowItem"]
    deny: list["PresetRulesItemDenyItem"]

class Preset(TypedDict):
    kind: Literal['egress', 'prompts', 'tools']
    name: str
    description: str
    source: Literal['ac', 'machine', 'you']
    risk: NotRequired[str]
    names: NotRequired[list[str]]
    rules: NotRequired[list["PresetRulesItem"]]
    text: NotRequired[str]
    apt: NotRequired[list[str]]
    npm: NotRequired[list[str]]
    pip: NotRequired[list[str]]
    egress: NotRequired[list[str]]
    error: NotRequired[str]

class LintRequest(TypedDict):
    text: NotRequired["str | None"]
    name: NotRequired["str | None"]

class Vault(TypedDict):
    key: Literal['file', 'passphrase']
    entries: list["VaultEntry"]

class VaultEntry(TypedDict):
    name: str
    kind: Literal['generic', 'github', 'gitlab', 'npm', 'pypi', 'anthropic', 'openai', 'gemini', 'aws', 'anthropic-login', 'openai-login', 'google-login']
    hosts: list[str]
    methods: NotRequired[list[str]]
    paths: NotRequired[list[str]]
    blueprints: NotRequired[list[str]]
    instances: NotRequired[list[str]]
    created: NotRequired["int | None"]
    rotated: NotRequired["int | None"]
    expires: NotRequired["int | None"]
    user: NotRequired[str]
    form: NotRequired[Literal['header', 'basic', 'query', None]]
    field: NotRequired[str]
    access_key: NotRequired[str]
    region: NotRequired[str]
    service: NotRequired[str]
    source: NotRequired[str]
    note: NotRequired[str]
    classic: NotRequired[bool]
    handover: NotRequired[bool]
    login: NotRequired["Login | None"]
    insecure: NotRequired[bool]
    used_by: NotRequired[list[str]]
    warnings: NotRequired[list[str]]

class Login(TypedDict):
    ends: int
    state: Literal['live', 'failing', 'over']
    text: str

class CredentialRequest(TypedDict):
    name: str
    value: str
    kind: NotRequired[Literal['generic', 'github', 'gitlab', 'npm', 'pypi', 'anthropic', 'openai', 'gemini', 'aws', 'anthropic-login', 'openai-login', 'google-login', None]]
    hosts: NotRequired["list[str] | None"]
    methods: NotRequired["list[str] | None"]
    paths: NotRequired["list[str] | None"]
    blueprints: NotRequired["list[str] | None"]
    instances: NotRequired["list[str] | None"]
    user: NotRequired["str | None"]
    form: NotRequired[Literal['header', 'basic', 'query', None]]
    field: NotRequired["str | None"]
    access_key: NotRequired["str | None"]
    region: NotRequired["str | None"]
    service: NotRequired["str | None"]
    expires: NotRequired["int | None"]
    source: NotRequired["str | None"]
    note: NotRequired["str | None"]
    allow_classic: NotRequired["bool | None"]
    handover: NotRequired["bool | None"]
    insecure: NotRequired["bool | None"]

class PassphraseRequest(TypedDict):
    passphrase: str

class ResealRequest(TypedDict):
    passphrase: "str | None"
    old: NotRequired["str | None"]

class VaultImage(TypedDict):
    data: str

class ImportRequest(TypedDict):
    passphrase: str
    data: str
    replace: NotRequired["bool | None"]

class Imported(TypedDict):
    added: int
    replaced: int
    kept: int

class RotateRequest(TypedDict):
    value: str
    expires: NotRequired["int | None"]
    source: NotRequired["str | None"]
    access_key: NotRequired["str | None"]
    allow_classic: NotRequired["bool | None"]

class CredentialTest(TypedDict):
    name: str
    host: str
    status: int
    accepted: "bool | None"
    text: str

class Token(TypedDict):
    name: str
    id: str
    scope: Literal['read', 'run', 'admin']
    created_at: int
    expires_at: int
    used_at: int

class TokenRequest(TypedDict):
    name: str
    scope: NotRequired[Literal['read', 'run', 'admin', None]]
    expires_s: NotRequired["int | None"]

class ServeRequest(TypedDict):
    address: str

class Service(TypedDict):
    name: str
    host: str
    address: str
    port: int
    proto: Literal['http', 'tls', 'tcp']
    url: str
    local: bool
    used_by: list[str]

class ServiceRequest(TypedDict):
    name: str
    host: NotRequired["str | None"]
    address: str
    port: int
    proto: NotRequired[Literal['http', 'tls', 'tcp', None]]

class VolumeUsedByItem(TypedDict):
    instance: str
    mode: Literal['ro', 'rw']
    running: bool

class Volume(TypedDict):
    name: str
    bytes: "int | None"
    created_at: int
    used_by: list["VolumeUsedByItem"]

class VolumeRequest(TypedDict):
    name: str

class BlueprintLimits(TypedDict):
    cpus_milli: int
    memory: int
    pids: int
    timeout_ms: int

BlueprintMountsItem = TypedDict(
    "BlueprintMountsItem",
    {
        "from": str,
        "to": str,
        "mode": Literal['ro', 'live'],
    },
)

class BlueprintVolumesItem(TypedDict):
    volume: str
    to: str
    mode: Literal['ro', 'rw']

class BlueprintResult(TypedDict):
    json: "str | None"
    usage: "str | None"

class BlueprintLinesItem(TypedDict):
    text: str
    file: "str | None"
    line: "int | None"
    value: bool
    inside: bool

class Blueprint(TypedDict):
    name: str
    description: str
    image: NotRequired[str]
    ready: NotRequired[bool]
    image_bytes: NotRequired["int | None"]
    builtin: NotRequired[bool]
    command: NotRequired[list[str]]
    shell: NotRequired[list[str]]
    env: NotRequired[list[str]]
    workdir: NotRequired[str]
    isolation: NotRequired[Literal['runsc', 'crun']]
    limits: NotRequired["BlueprintLimits"]
    error: NotRequired[str]
    egress: NotRequired["Egress"]
    credentials: NotRequired["CredentialList"]
    mounts: NotRequired[list["BlueprintMountsItem"]]
    volumes: NotRequired[list["BlueprintVolumesItem"]]
    agent: NotRequired[bool]
    args: NotRequired[Literal['append', 'replace']]
    headless: NotRequired[bool]
    resume: NotRequired[bool]
    result: NotRequired["BlueprintResult"]
    file: NotRequired[str]
    text: NotRequired[str]
    resolved: NotRequired[str]
    lines: NotRequired[list["BlueprintLinesItem"]]
    extends: NotRequired["str | None"]

CredentialList: TypeAlias = list["Literal['none'] | Credential"]

class BlueprintCheckRequest(TypedDict):
    name: NotRequired["str | None"]
    text: NotRequired["str | None"]
    file: NotRequired["str | None"]
    project: NotRequired["bool | None"]

class BlueprintCheckLinesItem(TypedDict):
    text: str
    file: "str | None"
    line: "int | None"
    value: bool
    inside: bool

class BlueprintCheck(TypedDict):
    ok: bool
    errors: list["Mistake"]
    more: bool
    resolved: NotRequired[str]
    lines: NotRequired[list["BlueprintCheckLinesItem"]]
    extends: NotRequired["str | None"]

class Mistake(TypedDict):
    code: Literal['not_yaml', 'unknown_key', 'other_version', 'missing', 'twice', 'too_much', 'extends', 'not_a_projects', 'wrong_value']
    message: str
    file: str
    line: int
    column: int
    suggestion: "str | None"

class BuildRequest(TypedDict):
    no_cache: NotRequired["bool | None"]
    force: NotRequired["bool | None"]
    retry: NotRequired["bool | None"]
    update: NotRequired["bool | None"]

class BuildLine(TypedDict):
    line: NotRequired[str]
    done: NotRequired[bool]
    error: NotRequired["Failure"]

class ImageList(TypedDict):
    images: list["Image"]
    unused_bytes: int
    cache_bytes: int

class Image(TypedDict):
    id: str
    tags: list[str]
    created_at: int
    bytes: int
    own_bytes: int
    shared_bytes: int
    blueprints: list[str]
    instances: list[str]
    running: bool
    used: bool

class ImagePruneRequest(TypedDict):
    ids: list[str]

class ImagePrune(TypedDict):
    images: list["Image"]
    freed_bytes: int

class Project(TypedDict):
    dir: str
    blueprint: str
    hash: str
    approved_at: int

class ProjectApproveRequest(TypedDict):
    dir: str
    text: str
    hash: str

class ProjectCheckRequest(TypedDict):
    dir: NotRequired["str | None"]
    text: NotRequired["str | None"]

class ProjectCheck(TypedDict):
    ok: bool
    errors: list["Mistake"]
    more: bool
    blueprint: "str | None"
    hash: "str | None"
    keys: list[str]
    approved: bool
    resolved: "str | None"
    parent: "str | None"
    before: "str | None"

class ProjectForgetRequest(TypedDict):
    dir: str

class Sbom(TypedDict):
    spdxVersion: str
    dataLicense: str
    SPDXID: str
    name: str
    documentNamespace: str
    creationInfo: Any
    comment: NotRequired[str]
    packages: list[Any]
    relationships: list[Any]

class RunAsRequestProject(TypedDict):
    text: NotRequired["str | None"]

class RunAsRequest(TypedDict):
    word: NotRequired["str | None"]
    blueprint: NotRequired["str | None"]
    name: NotRequired["str | None"]
    dir: NotRequired["str | None"]
    from_memory: NotRequired["bool | None"]
    create: NotRequired["bool | None"]
    build: NotRequired["bool | None"]
    options: NotRequired["InstanceOptions | None"]
    workspace_dev: NotRequired["int | None"]
    workspace_ino: NotRequired["int | None"]
    mounts_sent: NotRequired["bool | None"]
    project: NotRequired["RunAsRequestProject | None"]
    no_project: NotRequired["bool | None"]
    ask_project: NotRequired["bool | None"]
    without: NotRequired["list[str] | None"]
    cmd: NotRequired["list[str] | None"]
    shell: NotRequired["bool | None"]
    env: NotRequired["list[str] | None"]
    cwd: NotRequired["str | None"]
    tty: NotRequired["bool | None"]
    stdin: NotRequired["bool | None"]
    rows: NotRequired["int | None"]
    cols: NotRequired["int | None"]
    detached: NotRequired["bool | None"]
    timeout_ms: NotRequired["int | None"]
    prompt: NotRequired["str | None"]
    resume: NotRequired["bool | None"]

class InstanceOptions(TypedDict):
    cpus_milli: NotRequired["int | None"]
    memory: NotRequired["int | None"]
    pids: NotRequired["int | None"]
    timeout_ms: NotRequired["int | None"]
    disk: NotRequired["int | None"]
    output: NotRequired["int | None"]
    ttl_ms: NotRequired["int | None"]
    idle_ms: NotRequired["int | None"]
    hibernate_ms: NotRequired["int | None"]
    gpus: NotRequired["str | None"]
    isolation: NotRequired[Literal['runsc', 'crun', '', None]]
    runtime: NotRequired[Literal['runsc', 'docker', '', None]]
    workspace: NotRequired["str | None"]
    workspace_mode: NotRequired[Literal['copy', 'live', 'ro', None]]
    auto_remove: NotRequired["bool | None"]
    workdir: NotRequired["str | None"]
    env: NotRequired["list[str] | None"]
    env_clear: NotRequired["bool | None"]
    host_uid: NotRequired["int | None"]
    host_gid: NotRequired["int | None"]
    publish: NotRequired["list[str] | None"]
    volumes: NotRequired["list[str] | None"]
    credentials: NotRequired["list[str | Credential] | None"]
    egress: NotRequired["list[str] | None"]
    egress_reset: NotRequired["bool | None"]
    allow: NotRequired["list[str] | None"]
    deny: NotRequired["list[str] | None"]
    services: NotRequired["list[str] | None"]
    model_url: NotRequired["str | None"]
    push: NotRequired[Literal['', 'ask', 'allow', 'deny', None]]

class InstanceRequest(TypedDict):
    name: str
    blueprint: str
    cpus_milli: NotRequired["int | None"]
    memory: NotRequired["int | None"]
    pids: NotRequired["int | None"]
    timeout_ms: NotRequired["int | None"]
    disk: NotRequired["int | None"]
    output: NotRequired["int | None"]
    ttl_ms: NotRequired["int | None"]
    idle_ms: NotRequired["int | None"]
    hibernate_ms: NotRequired["int | None"]
    gpus: NotRequired["str | None"]
    isolation: NotRequired[Literal['runsc', 'crun', '', None]]
    runtime: NotRequired[Literal['runsc', 'docker', '', None]]
    workspace: NotRequired["str | None"]
    workspace_mode: NotRequired[Literal['copy', 'live', 'ro', None]]
    auto_remove: NotRequired["bool | None"]
    workdir: NotRequired["str | None"]
    env: NotRequired["list[str] | None"]
    env_clear: NotRequired["bool | None"]
    host_uid: NotRequired["int | None"]
    host_gid: NotRequired["int | None"]
    publish: NotRequired["list[str] | None"]
    volumes: NotRequired["list[str] | None"]
    credentials: NotRequired["list[str | Credential] | None"]
    egress: NotRequired["list[str] | None"]
    egress_reset: NotRequired["bool | None"]
    allow: NotRequired["list[str] | None"]
    deny: NotRequired["list[str] | None"]
    services: NotRequired["list[str] | None"]
    model_url: NotRequired["str | None"]
    push: NotRequired[Literal['', 'ask', 'allow', 'deny', None]]

class RunRequest(TypedDict):
    cmd: NotRequired["list[str] | None"]
    shell: NotRequired["bool | None"]
    env: NotRequired["list[str] | None"]
    cwd: NotRequired["str | None"]
    tty: NotRequired["bool | None"]
    stdin: NotRequired["bool | None"]
    rows: NotRequired["int | None"]
    cols: NotRequired["int | None"]
    detached: NotRequired["bool | None"]
    timeout_ms: NotRequired["int | None"]
    prompt: NotRequired["str | None"]
    resume: NotRequired["bool | None"]

class ExecRequest(TypedDict):
    connect: NotRequired["int | None"]
    cmd: NotRequired["list[str] | None"]
    shell: NotRequired["bool | None"]
    env: NotRequired["list[str] | None"]
    cwd: NotRequired["str | None"]
    tty: NotRequired["bool | None"]
    stdin: NotRequired["bool | None"]
    rows: NotRequired["int | None"]
    cols: NotRequired["int | None"]
    detached: NotRequired["bool | None"]
    timeout_ms: NotRequired["int | None"]
    prompt: NotRequired["str | None"]
    resume: NotRequired["bool | None"]

class CommandRequest(TypedDict):
    cmd: NotRequired["list[str] | None"]
    shell: NotRequired["bool | None"]
    env: NotRequired["list[str] | None"]
    cwd: NotRequired["str | None"]
    tty: NotRequired["bool | None"]
    rows: NotRequired["int | None"]
    cols: NotRequired["int | None"]
    timeout_ms: NotRequired["int | None"]
    stdin: NotRequired["str | None"]
    stdin_base64: NotRequired["str | None"]
    stdin_open: NotRequired["bool | None"]
    detached: NotRequired["bool | None"]
    max_output: NotRequired["int | None"]

class CommandRusage(TypedDict):
    user_us: int
    system_us: int

class Command(TypedDict):
    id: str
    cmd: list[str]
    detached: bool
    state: Literal['running', 'ended']
    stdin_open: bool
    pid: int
    started_at: int
    exit_code: "int | None"
    signal: "int | None"
    reason: Literal['exited', 'signal', 'not_started', 'timeout', 'memory', 'limit', 'sandbox_ended', None]
    message: "str | None"
    timed_out: bool
    duration_ms: int
    rusage: "CommandRusage | None"
    stdout: NotRequired[str]
    stdout_encoding: NotRequired[Literal['utf-8', 'base64']]
    stdout_bytes: NotRequired[int]
    stderr: NotRequired[str]
    stderr_encoding: NotRequired[Literal['utf-8', 'base64']]
    stderr_bytes: NotRequired[int]
    truncated: NotRequired[bool]

class CommandStarted(TypedDict):
    id: str

class CommandOutput(TypedDict):
    offset: int
    data: str
    encoding: Literal['utf-8', 'base64']

class CommandLost(TypedDict):
    bytes: int

class CommandEndedRusage(TypedDict):
    user_us: int
    system_us: int

class CommandEnded(TypedDict):
    exit_code: int
    signal: "int | None"
    reason: Literal['exited', 'signal', 'not_started', 'timeout', 'memory', 'limit', 'sandbox_ended']
    message: "str | None"
    timed_out: bool
    duration_ms: int
    rusage: "CommandEndedRusage"

class CommandError(TypedDict):
    code: str
    message: str

class CommandInput(TypedDict):
    data: NotRequired["str | None"]
    base64: NotRequired["str | None"]
    close: NotRequired["bool | None"]

class CommandSignal(TypedDict):
    signal: int

class AttachRequest(TypedDict):
    rows: NotRequired["int | None"]
    cols: NotRequired["int | None"]

class StopRequest(TypedDict):
    grace_ms: NotRequired["int | None"]

class KillRequest(TypedDict):
    signo: int
    pids: NotRequired["list[int] | None"]

class Process(TypedDict):
    pid: int
    ppid: int
    user: str
    state: str
    cpu_percent: float
    rss: int
    elapsed_s: int
    command: str

class CleanRequest(TypedDict):
    force: NotRequired["bool | None"]

class FileEntry(TypedDict):
    name: NotRequired[str]
    encoded: NotRequired[str]
    type: Literal['file', 'directory', 'link', 'special']
    mode: int
    size: int
    mtime: int
    target: NotRequired[str]

class FileList(TypedDict):
    entries: list["FileEntry"]
    more: bool
    next: NotRequired[str]

class FileRequest(TypedDict):
    op: Literal['mkdir', 'rename']
    mode: NotRequired["int | None"]
    parents: NotRequired["bool | None"]
    to: NotRequired["str | None"]
    replace: NotRequired["bool | None"]

class Port(TypedDict):
    address: str
    port: int
    inner: int
    state: Literal['open', 'waiting', 'failed', 'closed']
    reason: str
    url: str

class PublishRequest(TypedDict):
    publish: list[str]

class Snapshot(TypedDict):
    instance: str
    tag: str
    created_at: int
    created_ns: int
    named: bool
    running: bool
    memory: bool
    blueprint: str
    workspace: "str | None"
    workspace_mode: Literal['copy', 'live', 'ro', '']
    files: int
    bytes: int

class Policy(TypedDict):
    name: str
    bound: bool
    egress: "Egress"
    effective: "Egress"
    yaml: str
    rules: "dict[str, Any] | None"
    problem: NotRequired[str]
    warnings: NotRequired[list[str]]

class PolicyRequest(TypedDict):
    egress: NotRequired["list[str] | None"]
    egress_reset: NotRequired["bool | None"]
    allow: NotRequired["list[str] | None"]
    deny: NotRequired["list[str] | None"]
    services: NotRequired["list[str] | None"]
    model_url: NotRequired["str | None"]
    push: NotRequired[Literal['', 'ask', 'allow', 'deny', None]]

VerdictAddressesItem = TypedDict(
    "VerdictAddressesItem",
    {
        "address": NotRequired[str],
        "allow": NotRequired[bool],
        "reason": NotRequired[str],
        "class": NotRequired[str],
    },
)

class Verdict(TypedDict):
    allow: bool
    reason: str
    text: NotRequired[str]
    agent: NotRequired[str]
    target: NotRequired[str]
    path: NotRequired[str]
    rule: NotRequired["str | None"]
    source: NotRequired["str | None"]
    credential: NotRequired["str | None"]
    mode: NotRequired[str]
    observed: NotRequired[bool]
    use: NotRequired[str]
    hint: NotRequired["str | None"]
    addresses: NotRequired[list["VerdictAddressesItem"]]
    lookup: NotRequired["str | None"]
    warnings: NotRequired[list[str]]

class MachineAddressesBody(TypedDict):
    addresses: list[str]

class InstanceSnapshotBody(TypedDict):
    tag: NotRequired["str | None"]
    memory: NotRequired["bool | None"]

class InstanceRestoreBody(TypedDict):
    tag: NotRequired["str | None"]
    memory: NotRequired["bool | None"]

class InstanceForkBody(TypedDict):
    names: list[str]
    tag: NotRequired["str | None"]
    memory: NotRequired["bool | None"]
