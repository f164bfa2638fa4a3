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
  benchmark: 'bandwidth' | 'rate';
  operation: 'write' | 'send' | 'read';
  transport: 'shm' | 'tcp';
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
  benchmark: 'latency';
  operation: 'write' | 'send' | 'read';
  transport: 'shm' | 'tcp';
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
  messagesPerSecond: number;
  deliveredBytesPerSecond: number;
  oneCopySeconds: number;
  timesOneCopy: number;
}

/** `rdmc bench multicast`; times in seconds, from the submission until the slowest receiver has the last message. */
export interface MulticastDocument {
  benchmark: 'multicast';
  transport: 'shm' | 'tcp';
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
  transfers: Transfer[];
}

/** `rdmc schedule --rank R`. */
export interface RankDocument extends ScheduleHead {
  rank: number;
  firstFrom: number | null;
  sends: Transfer[];
  receives: Transfer[];
}

interface SimulatedMessage {
  group: number;
  message: number;
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
  preset: string;
  algorithm: Algorithm;
  nodes: number;
  bytes: number;
  blockBytes: number;
  windows: { receive: number; send: number; ready: number | null };
  offload: boolean;
  seed: number;
  /** The known results that the simulator reproduced before the run. */
  validated: { property: string; checks: number }[];
  microseconds: number;
  gbitPerSecond: number;
  steps: number;
  transfers: number;
  events: number;
  messages: SimulatedMessage[];
  /** Blocks into and out of each rack. */
  racks: { rack: number; entering: number; leaving: number }[];
  hosts: SimulatedHost[];
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
  auto: { device: string | null; reason: string; port: number | null; gidIndex: number | null };
  environment: Record<string, string | null>;
  devices: DeviceEntry[];
  /** RDMA devices of the kernel that libibverbs does not list. */
  notListed: { name: string; linkLayer: string; state: string }[];
  verbsLibrary: string | null;
  verbsProblem: string | null;
}

/** The result of one check. */
export interface CheckResult {
  /** Stable name, for programs. */
  id: string;
  title: string;
  status: 'ok' | 'warn' | 'fail' | 'info';
  found: string;
  /** What to do; `null` where nothing needs to be done. */
  advice: string | null;
}

/** `rdmc doctor`. */
export interface DoctorDocument {
  healthy: boolean;
  members: number;
  byteLength: number;
  checks: CheckResult[];
}
