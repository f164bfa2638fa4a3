import {
  type CompletionQueue,
  CompletionWord,
  type Device,
  Layout,
  type MemoryRegion,
  Opcode,
  openDevice,
  type QueuePair,
  type RemoteMemory,
  Status,
  type SubmissionQueue,
  statusName,
  WorkRequestFlag,
} from '@rdmc/verbs';
import { yieldProcessor } from '@rdmc/verbs/loop';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { RECEIVE_DEPTH, REGION_BYTES, SEND_DEPTH } from './limits.js';
import { type BenchDevice, type BenchRoute, routeOf } from './route.js';

/** Spins between two checks of the clock and of the other process. */
const LOOK_EVERY = 1 << 12;
const STALL_MS = 5000;

export type Operation = 'write' | 'send' | 'read';

const OPCODES: Readonly<Record<Operation, number>> = {
  write: Opcode.WRITE,
  send: Opcode.SEND,
  read: Opcode.READ,
};

interface EndpointParts {
  readonly device: Device;
  readonly queuePair: QueuePair;
  readonly region: MemoryRegion;
  readonly sends: CompletionQueue;
  readonly receives: CompletionQueue;
}

/** One side of a point-to-point benchmark: a device, a queue pair and a region. */
export class Endpoint {
  readonly device: Device;
  readonly queuePair: QueuePair;
  readonly region: MemoryRegion;
  private readonly sends: CompletionQueue;
  private readonly receives: CompletionQueue;
  private readonly batch: SubmissionQueue;

  private constructor(
    parts: EndpointParts,
    private readonly yields: boolean,
  ) {
    this.device = parts.device;
    this.queuePair = parts.queuePair;
    this.region = parts.region;
    this.sends = parts.sends;
    this.receives = parts.receives;
    this.batch = parts.device.createSubmissionQueue();
  }

  static async open({ device: wanted, transport }: BenchDevice): Promise<Endpoint> {
    const device = await openDevice({ device: wanted, transport });
    const domain = device.allocateProtectionDomain();
    const [sends, receives] = [device.createCompletionQueue(), device.createCompletionQueue()];
    const queuePair = domain.createQueuePair({
      sendQueue: sends,
      receiveQueue: receives,
      sendDepth: SEND_DEPTH,
      receiveDepth: RECEIVE_DEPTH,
    });
    const region = await domain.allocate(REGION_BYTES, { remoteWrite: true, remoteRead: true });
    const yields = device.kind !== 'soft' || transport === 'tcp';
    return new Endpoint({ device, queuePair, region, sends, receives }, yields);
  }

  /** The device, and once connected the transport. */
  get route(): BenchRoute {
    return routeOf(this.device, this.queuePair.transport);
  }

  /** Begins a request on `byteLength` of this side's region; `flush` posts it. */
  begin(operation: Operation, byteLength: number, offset: number, signaled: boolean): void {
    const flags = signaled ? WorkRequestFlag.SIGNALED : 0;
    this.batch.begin(OPCODES[operation], this.queuePair.number, 0, flags);
    this.batch.sge(this.region.address + offset, byteLength, this.region.lkey);
  }

  /** Sets the remote address of the request that was begun; not used by a SEND. */
  to({ address, rkey }: RemoteMemory, offset = 0): void {
    this.batch.remote(address + offset, rkey);
  }

  beginReceive(byteLength: number, offset: number): void {
    this.batch.begin(Opcode.RECEIVE, this.queuePair.number, 0, WorkRequestFlag.SIGNALED);
    this.batch.sge(this.region.address + offset, byteLength, this.region.lkey);
  }

  flush(): void {
    this.batch.flush();
  }

  /** Takes completions of sends; returns how many. */
  sent(): number {
    return taken(this.sends);
  }

  /** Takes completions of receives; returns how many. */
  received(): number {
    return taken(this.receives);
  }

  /** Calls `done` until it returns true. @throws CliError when the other side has stopped */
  spinUntil(done: () => boolean): void {
    const { ppid } = process;
    let giveUpAt = 0;
    for (let spins = 1; !done(); spins += 1) {
      // Over TCP a native thread makes the progress, and on soft-RoCE the kernel: they need the processor.
      if (this.yields) yieldProcessor();
      if (spins % LOOK_EVERY !== 0) continue;
      const now = performance.now();
      giveUpAt ||= now + STALL_MS;
      if (now > giveUpAt || process.ppid !== ppid) throw stalled();
    }
  }
}

function stalled(): CliError {
  return new CliError('ERR_RDMC_MEMBER_LOST', `the other process made no progress for ${STALL_MS / 1000} s`, {
    exitCode: ExitCode.MEMBER_LOST,
    advice: 'it was stopped or killed; run it again',
  });
}

function taken(queue: CompletionQueue): number {
  const count = queue.pollBatch();
  for (let i = 0; i < count; i += 1) {
    const status = queue.words[i * Layout.COMPLETION_WORDS + CompletionWord.STATUS]!;
    if (status === Status.SUCCESS) continue;
    throw new CliError('ERR_RDMC_MEMBER_LOST', `a request completed with ${statusName(status)}`, {
      exitCode: ExitCode.MEMBER_LOST,
      advice: 'the other process ended, or the connection broke; run it again',
    });
  }
  return count;
}
