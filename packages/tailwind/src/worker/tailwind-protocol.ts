import { type CommandHandlers, type Protocol, type ProtocolContext, protocolWorker } from '@rdmc/dataplane';
import type { QueuePairAddress } from '@rdmc/verbs';
import { TailwindError } from '../errors.js';
import {
  type ChannelSetup,
  type PairConnect,
  type PairSetup,
  type ReadSetup,
  type TailwindRecords,
  tailwindRecords,
} from '../records.js';
import { Channel, type ChannelEvents, type TargetWriter } from './channel.js';
import { LogTrace } from './log-trace.js';
import type { Pair } from './pair.js';
import { type AdmittedBuffer, RpcBackupPair } from './rpc-backup-pair.js';
import { RpcPrimaryPair } from './rpc-primary-pair.js';
import { WritePair } from './write-pair.js';

type Context = ProtocolContext<TailwindRecords>;

/** All logs and backups of a process, in the data plane's worker; or one log, in the application's thread. */
export class TailwindProtocol implements Protocol<TailwindRecords>, ChannelEvents {
  readonly #pairs = new Map<number, Pair>();
  readonly #channels = new Map<number, Channel>();
  readonly #buffers = new Map<number, AdmittedBuffer>();
  /** Pairs that are being dropped, with requests that have not completed yet. */
  #dropping = 0;
  /** Acknowledgements of this turn: one event each, however many appends they cover. */
  readonly #acknowledged = new Map<number, number>();

  constructor(private readonly context: Context) {}

  /** A channel or a pair may have been closed when a command for it arrives. */
  readonly commands: CommandHandlers<TailwindRecords> = {
    createPair: (setup) => this.#createPair(setup),
    connect: (order) => this.#connect(order),
    drop: (pair) => this.#drop(pair),
    openChannel: (setup) => this.#openChannel(setup),
    append: (channel, sequence, offset, byteLength) =>
      this.#channels.get(channel)?.append(sequence, offset, byteLength),
    replace: ({ channel, lost, target }) => this.#channels.get(channel)?.replace(lost, target),
    join: ({ channel, target }) => this.#channels.get(channel)?.join(target),
    remove: (channel, target) => this.#channels.get(channel)?.remove(target),
    resume: (channel) => this.#channels.get(channel)?.resume(),
    endChannel: (channel) => this.#endChannel(channel),
    read: (setup) => this.#read(setup),
    admit: (pair, key, address, byteLength) => void this.#buffers.set(key, { pair, address, byteLength }),
    evict: (key) => void this.#buffers.delete(key),
  };

  /** A primary waits for the completions of its own writes; a backup, for messages (RPC scheme) or for nothing. */
  waitsForSolicited(): boolean {
    for (const pair of this.#pairs.values()) if (pair.isBusy) return false;
    return this.#dropping === 0;
  }

  onTurn(): void {
    for (const [channel, sequence] of this.#acknowledged) this.context.events.acknowledged(channel, sequence);
    this.#acknowledged.clear();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pairs.values()].map((pair) => pair.drop()));
  }

  acknowledged(channel: number, sequence: number): void {
    this.#acknowledged.set(channel, sequence);
  }

  lost(channel: number, target: number, reason: string): void {
    this.context.events.lost({ channel, target, reason });
  }

  caughtUp(channel: number, target: number): void {
    this.context.events.caughtUp(channel, target);
  }

  readonly #writerOf = (pair: number): TargetWriter | undefined => {
    const found = this.#pairs.get(pair);
    return found instanceof WritePair || found instanceof RpcPrimaryPair ? found : undefined;
  };

  #openChannel(setup: ChannelSetup): void {
    const { trace } = this.context;
    const traced = trace && new LogTrace(trace, setup.traced);
    this.#channels.set(setup.channel, new Channel(setup, this.#writerOf, this, traced));
  }

  #endChannel(channel: number): void {
    this.#channels.get(channel)?.end();
    this.#channels.delete(channel);
  }

  async #createPair({ pair: number, side, mode }: PairSetup): Promise<QueuePairAddress> {
    const pair = await makePair(this.context, number, side, mode, this.#buffers);
    this.#pairs.set(number, pair);
    this.context.wake();
    return pair.address;
  }

  #connect({ pair, address, retryTimeoutMs }: PairConnect): Promise<string> {
    const found = this.#pairs.get(pair);
    if (!found) throw goneError(pair);
    return found.connect(address, retryTimeoutMs);
  }

  #read(setup: ReadSetup): Promise<void> {
    const pair = this.#pairs.get(setup.pair);
    if (!(pair instanceof WritePair)) throw goneError(setup.pair);
    return pair.read(setup);
  }

  /** Also fails those targets of the pair that do not have outstanding requests. */
  async #drop(number: number): Promise<void> {
    const pair = this.#pairs.get(number);
    if (!pair) return;
    this.#pairs.delete(number);
    const reason = pair.broken ?? 'the connection to it was ended';
    const dropped = pair.drop();
    for (const { targets } of this.#channels.values()) {
      // Those that do not count yet leave the list.
      for (const target of [...targets]) {
        if (target.setup.pair === number) target.fail(reason);
      }
    }
    this.#dropping += 1;
    try {
      await dropped;
    } finally {
      this.#dropping -= 1;
    }
  }
}

/** The protocol for a data plane's worker, and for a log in the application's thread. */
export const tailwindWorker = protocolWorker(tailwindRecords, (context) => new TailwindProtocol(context));

async function makePair(
  context: Context,
  number: number,
  side: PairSetup['side'],
  mode: PairSetup['mode'],
  buffers: ReadonlyMap<number, AdmittedBuffer>,
): Promise<Pair> {
  if (mode === 'one-sided') return new WritePair(context, number);
  if (side === 'primary') return RpcPrimaryPair.create(context, number);
  return RpcBackupPair.create(context, number, buffers);
}

function goneError(pair: number): TailwindError {
  return new TailwindError('ERR_RDMC_MEMBER_LOST', `queue pair ${pair} is gone`);
}
