/**
 * What `rdmc` prints with `--json`, as types that programs import. They name no other package's types, so that a program that
 * uses them does not need zod. A test compares them with the schemas.
 */
import type { Algorithm } from '@rdmc/schedule';

interface StreamResult {
  byteLength: number;
  messages: number;
  peakBytesPerSecond: number;
  bytesPerSecond: number;
  messagesPerSecond: number;
}

/** `rdmc bench bandwidth` and `rdmc bench rate`. */
export interface StreamDocument {
  /** The subcommand of `rdmc bench`. */
  benchmark: 'bandwidth' | 'rate';
  /** The verb that carries the messages. */
  operation: 'write' | 'send' | 'read';
  /** `soft`, or the name of an RDMA device. */
  device: string;
  /** `shm` and `tcp` on the soft device. */
  transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
  /** One result for each message size. */
  results: StreamResult[];
}

interface LatencyResult {
  byteLength: number;
  rounds: number;
  minimum: number;
  median: number;
  average: number;
  p99: number;
  p999: number;
  maximum: number;
}

/** `rdmc bench latency`; times in seconds, one way for write and send. */
export interface LatencyDocument {
  /** The subcommand of `rdmc bench`. */
  benchmark: 'latency';
  /** The verb that carries the messages. */
  operation: 'write' | 'send' | 'read';
  /** `soft`, or the name of an RDMA device. */
  device: string;
  /** `shm` and `tcp` on the soft device. */
  transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
  /** One result for each message size. */
  results: LatencyResult[];
}

interface MulticastResult {
  members: number;
  byteLength: number;
  algorithm: Algorithm;
  blockBytes: number;
  blocks: number;
  steps: number;
  burst: number;
  rounds: number;
  seconds: number;
  fastestSeconds: number;
  slowestSeconds: number;
  firstReceiverSeconds: number;
  skewSeconds: number;
  mostOftenLast: number;
  messagesPerSecond: number;
  deliveredBytesPerSecond: number;
  oneCopySeconds: number;
  timesOneCopy: number;
}

/** `rdmc bench multicast`; times in seconds, from the submission until the slowest receiver has the last message. */
export interface MulticastDocument {
  /** The subcommand of `rdmc bench`. */
  benchmark: 'multicast';
  /** `soft`, or the name of an RDMA device. */
  device: string;
  /** `shm` and `tcp` on the soft device. */
  transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
  /** One result for each number of members, size and algorithm. */
  results: MulticastResult[];
}

interface ScheduleHead {
  algorithm: Algorithm;
  nodes: number;
  blocks: number;
  steps: number;
  racks: (string | number)[] | null;
}

interface Transfer {
  step: number;
  from: number;
  to: number;
  block: number;
}

/** `rdmc schedule`. */
export interface ScheduleDocument extends ScheduleHead {
  /** The transfers of all nodes. */
  transfers: Transfer[];
}

/** `rdmc schedule --rank R`. */
export interface RankDocument extends ScheduleHead {
  /** The rank that the document is about; 0 is the root. */
  rank: number;
  /** The rank that sends it its first block; null at the root. */
  firstFrom: number | null;
  /** Its sends, in step order. */
  sends: Transfer[];
  /** Its receives, in step order. */
  receives: Transfer[];
}

interface SimulatedMessage {
  group: number;
  message: number;
  /** Its bytes. */
  byteLength: number;
  sentAt: number;
  completeAt: number;
}

interface SimulatedHost {
  node: number;
  working: number;
  polling: number;
  wakeUps: number;
  turns: number;
}

/** `rdmc simulate`; times in microseconds of simulated time. */
export interface SimulationDocument {
  /** The name of the simulated hardware. */
  preset: string;
  /** The algorithm of the schedule. */
  algorithm: Algorithm;
  /** Members of each group, the root included. */
  nodes: number;
  /** Size of each message. */
  bytes: number;
  /** Size of a block. */
  blockBytes: number;
  /** Receives posted, sends outstanding, and receives announced ahead; `ready` is null for all that are posted. */
  windows: { receive: number; send: number; ready: number | null };
  /** Whether the NICs run the protocol. */
  offload: boolean;
  /** The seed of all random numbers. */
  seed: number;
  /** The known results that the simulator reproduced before the run. */
  validated: { property: string; checks: number }[];
  /** From the first `send` to the last completion. */
  microseconds: number;
  /** Message bytes of all groups over that time, in Gbit/s (10^9). */
  gbitPerSecond: number;
  /** Steps of the schedule of one message. */
  steps: number;
  /** Blocks sent from one member to another, over all groups and messages. */
  transfers: number;
  /** Events of the simulator. */
  events: number;
  /** The messages of all groups, in order of group and message. */
  messages: SimulatedMessage[];
  /** Blocks into and out of each rack. */
  racks: { rack: number; entering: number; leaving: number }[];
  /** The threads of all hosts, in order of node. */
  hosts: SimulatedHost[];
}

interface TracedMember {
  member: number;
  /** Such as its host, if the trace has one. */
  name: string | null;
  waitingSeconds: number;
  waits: {
    for: 'block' | 'ready' | 'sent' | 'application';
    peer: number | null;
    seconds: number;
    share: number;
  }[];
  blocksReceived: number;
  blocksSent: number;
  firstBlockCopies: number;
  wakeUps: number;
}

/** `rdmc trace`: who delays whom. Times in seconds; shares from 0 to 1. */
export interface TraceSummaryDocument {
  /** From the first record to the last one. */
  seconds: number;
  /** Records that were read. */
  records: number;
  /** Records that were lost because a ring was full. */
  dropped: number;
  /** What each member waited for, the longest first. */
  members: TracedMember[];
  /** What the waiting of all members comes down to, the largest first. */
  causes: { kind: 'link' | 'application' | 'member'; members: number[]; seconds: number; share: number }[];
  /** The member, or the two members of a link, with most of the causes; null if nobody waited. */
  slowest: { members: number[]; share: number } | null;
  /** Messages with at least two receivers in the trace. */
  messages: number;
  /** Between the first and the last receiver of a message; null without such messages. */
  skew: { medianSeconds: number; mostSeconds: number; mostOftenLast: number } | null;
}

interface DevicePort {
  number: number;
  state: string;
  linkLayer: string;
  activeMtuBytes: number;
  maxMtuBytes: number;
  lid: number;
  /** `auto`: whether the device option `auto` chooses this GID of the port. */
  gids: { index: number; gid: string; type: string; netdev: string; auto: boolean }[];
}

interface DeviceEntry {
  name: string;
  kind: string;
  usable: boolean;
  problem: string | null;
  /** How the soft device reaches others. */
  transports: { name: 'shm' | 'tcp'; usable: boolean; reach: string; problem: string | null }[];
  /** Ports of RDMA devices; empty for the soft device. */
  ports: DevicePort[];
  limits: Record<string, number | boolean>;
}

/** `rdmc devices`. */
export interface DevicesDocument {
  /** The device that `auto` chooses, and why; null where it chooses none. `port`, `gidIndex`: of RDMA devices only. */
  auto: { device: string | null; reason: string; port: number | null; gidIndex: number | null };
  /** The environment variables that choose device and library; null where one is not set. */
  environment: Record<string, string | null>;
  /** The soft device, then the RDMA devices that libibverbs lists. */
  devices: DeviceEntry[];
  /** RDMA devices of the kernel that libibverbs does not list. */
  notListed: { name: string; linkLayer: string; state: string }[];
  /** Path of libibverbs; null if it cannot be used. */
  verbsLibrary: string | null;
  /** Why libibverbs cannot be used: code and message; null if it can. */
  verbsProblem: string | null;
}

/** The result of one check. */
export interface CheckResult {
  /** Stable name, for programs. */
  id: string;
  /** What was checked, for people. */
  title: string;
  /** 'warn': works, but less well; 'fail': does not work; 'info': for information. */
  status: 'ok' | 'warn' | 'fail' | 'info';
  /** What was found, for people. */
  found: string;
  /** What to do; `null` where nothing needs to be done. */
  advice: string | null;
}

/** `rdmc doctor`. */
export interface DoctorDocument {
  /** Whether no check failed. */
  healthy: boolean;
  /** Members of the demonstration that the machine is checked for, the sender included. */
  members: number;
  /** Size of the file of that demonstration. */
  byteLength: number;
  /** All checks, in the order in which they are shown. */
  checks: CheckResult[];
}
