import { join } from 'node:path';
import { readShape } from '@rdmc/common/shapes';
import type { Member } from '@rdmc/mesh';
import type { MetricsAddress } from '@rdmc/metrics';
import type { Command } from 'commander';
import { type ClusterMembers, clusterMembers } from '../admin/members.js';
import { KvError } from '../errors.js';
import {
  DEFAULT_MAX_CLIENTS,
  DEFAULT_PORT,
  DEFAULT_SLOW_LOG_COMMANDS,
  DEFAULT_SLOW_LOG_US,
} from '../limits.js';
import type { MonitorOptions } from '../monitor/monitor.js';
import { keptMembers } from '../node/kept-members.js';
import { requireKeyBeyondLoopback } from '../node/protection.js';
import {
  type Endpoint,
  endpoint,
  endpoints,
  members,
  metricsAddress,
  seconds,
  slowLogThreshold,
  wholeNumber,
} from '../values.js';
import { askCluster } from './ask-cluster.js';
import { ANSWER_SECONDS, findMembers } from './find-members.js';
import { clusterKey } from './key.js';
import { type ReplicationFlags, replicationOptions } from './replication-options.js';
import { runCoordinator, runServer, runStandalone } from './run-member.js';
import { type CoordinatorStateFlags, coordinatorStateOptions } from './state-options.js';
import type { Tell } from './tell.js';
import { type ServerTlsFlags, serverTls, serverTlsOptions } from './tls-options.js';

const MIB = 1024 * 1024;
const MAX_STANDBYS = 100;

const COORDINATOR_HELP = `
A standby joins the cluster and waits. When the coordinator has been silent for --lead-seconds, the standby coordinates: servers
find it at once, and nothing is started again. A coordinator that returns waits in turn.

  kv coordinator --members $M --etcd http://10.0.0.9:2379                                        # the first of --members
  kv coordinator --members $M --etcd http://10.0.0.9:2379 --standby 1 --listen 10.0.0.5:7400     # on another host`;

const SERVER_HELP = `
Give all members the same list: the coordinator first, then the servers with the numbers 1, 2, … Any member may be started again
while the others run, with the same arguments. SIGTERM and Ctrl-C end a server after its backups are in files.

  M=10.0.0.1:7400,10.0.0.1:7401,10.0.0.2:7401,10.0.0.3:7401,10.0.0.4:7401
  kv server --members $M --key-file key --id 1 --host 10.0.0.1              # on 10.0.0.1; clients need RDMC_KV_PASSWORD
  kv server --join 10.0.0.1:6379 --id 5 --listen 10.0.0.5:7401 --key-file key --host 10.0.0.5   # a further server
  kv server --replicas 0                                                    # one process without replication

Exit codes: 0 SIGTERM, Ctrl-C, SHUTDOWN or kv admin remove; 1 an error; 2 wrong use; 75 others have its part now: start it again`;

interface MemberFlags {
  readonly members?: Member[];
  readonly directory: string;
  readonly keyFile?: string;
  readonly joinSeconds: number;
}

interface ServerFlags extends MemberFlags, ReplicationFlags, ServerTlsFlags {
  readonly id?: number;
  readonly join?: Endpoint[];
  readonly joinCa?: string;
  readonly listen?: Endpoint;
  readonly host: string;
  readonly port: number;
  readonly announce?: string;
  readonly segmentMib: number;
  readonly segments: number;
  readonly buffers: number;
  readonly powerHoldSeconds?: number;
  readonly device?: string;
  readonly maxClients: number;
  readonly redirect?: boolean;
  readonly protectedMode: boolean;
  readonly metrics?: MetricsAddress;
  readonly slowlogLogSlowerThan: number;
  readonly slowlogMaxLen: number;
  readonly latencyMonitorThreshold: number;
}

interface CoordinatorFlags extends MemberFlags, CoordinatorStateFlags {
  readonly metrics?: MetricsAddress;
  readonly standby?: number;
  readonly listen?: Endpoint;
  readonly leadSeconds: number;
}

function memberOptions(command: Command): Command {
  return command
    .option(
      '-m, --members <list>',
      'host:port of the coordinator and of all servers, the same everywhere',
      members,
    )
    .option('-d, --directory <path>', 'directory of the state and files', './kv-data')
    .option(
      '--key-file <path>',
      'file of mode 600 with the cluster key; needed beyond loopback and with a password (or RDMC_KEY)',
    )
    .option('--join-seconds <n>', 'time to wait for the other members', wholeNumber(1, 86_400), 60);
}

/** `kv server` and `kv coordinator`. */
export function addMemberCommands(program: Command, tell: Tell): void {
  addServerCommand(program, tell);
  const coordinator = program
    .command('coordinator')
    .description(
      'runs the coordinator, which assigns keys to servers. With --etcd there may be standbys, of which one leads',
    )
    .addHelpText('after', COORDINATOR_HELP);
  metricsOption(coordinatorStateOptions(memberOptions(coordinator)))
    .option(
      '--standby <n>',
      'run standby 1, 2, …, which takes over when the coordinator is lost; needs --etcd and --listen',
      wholeNumber(1, MAX_STANDBYS),
    )
    .option('--listen <host:port>', 'address of a standby, which is not in --members', endpoint)
    .option(
      '--lead-seconds <n>',
      'with --etcd: another coordinator takes over from one that is silent for so long',
      wholeNumber(2, 3600),
      10,
    )
    .action((flags: CoordinatorFlags) => startCoordinator(flags, tell));
}

function addServerCommand(program: Command, tell: Tell): void {
  const command = memberOptions(
    program
      .command('server')
      .description('runs a server: it serves a part of the keys, and keeps backups of the other servers')
      .addHelpText('after', SERVER_HELP),
  )
    .option(
      '-i, --id <n>',
      'number of this member: 1 is the first after the coordinator',
      wholeNumber(1, 10_000),
    )
    .option(
      '--join <list>',
      'instead of --members, join a cluster that runs: host:port for clients of some of its servers; needs --listen',
      endpoints,
    )
    .option('--join-ca <file>', 'with --join, connect with TLS; certificate of the authority')
    .option('--listen <host:port>', 'with --join: where the other members reach this server', endpoint)
    .option('-p, --port <n>', 'port for clients; 0: any', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option('--host <address>', 'address for clients; beyond loopback with RDMC_KV_PASSWORD', '127.0.0.1')
    .option('--no-protected-mode', 'accept clients beyond loopback without a password')
    .option('--announce <host>', 'address that clients are told instead of --host')
    .option('--segment-mib <n>', 'size of a segment', wholeNumber(4, 1024), 8)
    .option('--segments <n>', "segments of this server's log", wholeNumber(10, 1_000_000), 128)
    .option('--buffers <n>', 'segments of other servers that may be in memory only', wholeNumber(1, 4096), 24)
    .option(
      '--power-hold-seconds <n>',
      'time that this machine runs after its power fails: grant only as many buffers as the disk, which is measured, writes in it',
      seconds,
    )
    .option(
      '--redirect',
      'answer MOVED for keys of other servers, as Redis Cluster, instead of forwarding: for clients of clusters only',
    )
    .option('--device <name>', 'RDMA device (default: one that is present)')
    .option('--max-clients <n>', 'largest number of clients', wholeNumber(1, 1_000_000), DEFAULT_MAX_CLIENTS);
  serverTlsOptions(monitorFlags(replicationOptions(command))).action((flags: ServerFlags) =>
    startServer(flags, tell),
  );
}

function metricsOption(command: Command): Command {
  return command.option(
    '--metrics <[host:]port>',
    'serve metrics for Prometheus by HTTP (default host: 127.0.0.1)',
    metricsAddress,
  );
}

/** The options of what can be observed. */
function monitorFlags(command: Command): Command {
  return metricsOption(command)
    .option(
      '--slowlog-log-slower-than <µs>',
      'SLOWLOG keeps commands that take this many microseconds or more; 0: all, -1: none',
      slowLogThreshold,
      DEFAULT_SLOW_LOG_US,
    )
    .option(
      '--slowlog-max-len <n>',
      'commands that SLOWLOG keeps',
      wholeNumber(0, 1e6),
      DEFAULT_SLOW_LOG_COMMANDS,
    )
    .option(
      '--latency-monitor-threshold <ms>',
      'LATENCY keeps events that take this many milliseconds or more; 0: none',
      wholeNumber(0, 1e9),
      0,
    );
}

async function startServer(flags: ServerFlags, tell: Tell): Promise<void> {
  const { host, port, maxClients, replicas, protectedMode } = flags;
  const password = process.env.RDMC_KV_PASSWORD;
  const monitor = monitorOptions(flags);
  const tls = serverTls(flags);
  const clients = { host, port, maxClients, password, protectedMode, tls, monitor };
  if (!flags.members && !flags.join) {
    if (replicas !== 0)
      throw needsMembers(
        'a server of a cluster needs --id, and --members or --join: kv server --help has examples. With --replicas 0 it is ' +
          'one process without replication',
      );
    requireUsed(flags);
    return runStandalone(clients, tell, flags.metrics);
  }
  const cluster = await clusterOf(flags);
  const { mode, buffers, powerHoldSeconds, device, windowMs, announce, segments } = flags;
  const segmentBytes = flags.segmentMib * MIB;
  const directory = directoryOf(flags, cluster.id);
  const shared = { ...common(flags, cluster.members), ...clients, ...cluster, replicas, mode };
  return runServer(
    {
      ...shared,
      redirects: flags.redirect ?? false,
      directory,
      buffers,
      powerHoldSeconds,
      device,
      windowMs,
      announce,
      segmentBytes,
      maxSegments: segments,
    },
    tell,
    flags.metrics,
  );
}

interface Access {
  readonly joinCa: string | undefined;
  /** How long each server may take to answer. */
  readonly answerSeconds?: number;
}

/** The members that a server knows at its start: those of the list, or those that run. */
async function clusterOf(flags: ServerFlags) {
  const { id, members: all, join: addresses, listen } = flags;
  if (all) {
    if (addresses || listen)
      throw needsMembers('--members and --join exclude each other; --listen goes with --join');
    if (id === undefined || id >= all.length)
      throw needsMembers(`--id must be the number of a server in --members: 1 to ${all.length - 1}`);
    return { id, members: all };
  }
  if (id === undefined || listen === undefined) {
    throw needsMembers(
      '--join needs --id, a number that no other server has, and --listen, where the others reach this server',
    );
  }
  const kept = await keptMembers(directoryOf(flags, id));
  const access = { joinCa: flags.joinCa, ...(kept && { answerSeconds: ANSWER_SECONDS }) };
  const asks = addresses!.map((address) => () => askMembers(address, access));
  const { clusterId, members } = await findMembers({ asks, kept, waitMs: flags.joinSeconds * 1000 });
  return { id, clusterId, members, listen };
}

async function askMembers(address: Endpoint, { joinCa, ...access }: Access): Promise<ClusterMembers> {
  const tls = joinCa === undefined ? { tls: false } : { tls: true, cacert: joinCa };
  const answer = await askCluster({ ...access, connect: [address], json: true, ...tls }, ['MEMBERS']);
  return readShape(clusterMembers, answer);
}

function directoryOf({ directory }: ServerFlags, id: number): string {
  return join(directory, `server-${id}`);
}

/** @throws KvError: an option of a member that one process alone does not have */
function requireUsed({ id, listen, joinCa, keyFile, announce, device, powerHoldSeconds }: ServerFlags): void {
  const ofMembers = { id, listen, 'join-ca': joinCa, 'key-file': keyFile, announce, device };
  const given = Object.entries({ ...ofMembers, 'power-hold-seconds': powerHoldSeconds }).find(
    ([, value]) => value,
  );
  if (given)
    throw needsMembers(`--${given[0]} is for a server of a cluster: give --members or --join as well`);
}

function monitorOptions(flags: ServerFlags): MonitorOptions {
  return {
    slowLogUs: flags.slowlogLogSlowerThan,
    slowLogCommands: flags.slowlogMaxLen,
    latencyMs: flags.latencyMonitorThreshold,
  };
}

function startCoordinator(flags: CoordinatorFlags, tell: Tell): Promise<void> {
  if (!flags.members) throw needsMembers('a coordinator needs --members: kv coordinator --help has examples');
  const { etcd, etcdPrefix, etcdCaFile, standby, listen } = flags;
  if (listen !== undefined && standby === undefined) {
    throw needsMembers('--listen is the address of a standby: the coordinator has its address in --members');
  }
  const directory = join(flags.directory, standby === undefined ? 'coordinator' : `standby-${standby}`);
  const state = { directory, etcd, etcdPrefix, etcdCaFile, leadMs: flags.leadSeconds * 1000 };
  return runCoordinator({ ...common(flags, flags.members), ...state, standby, listen }, tell, flags.metrics);
}

function common(flags: MemberFlags, all: readonly Member[]) {
  const key = clusterKey(flags.keyFile);
  requireKeyBeyondLoopback(all, key);
  return { members: all, key, joinTimeoutMs: flags.joinSeconds * 1000 };
}

function needsMembers(message: string): KvError {
  return new KvError('ERR_RDMC_KV_INVALID_OPTION', message);
}
