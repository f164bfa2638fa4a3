import type { Protocol, ProtocolContext } from '@rdmc/dataplane';
import {
  type ChannelSetup,
  Command,
  decodeJson,
  decodeNumbers,
  Event,
  encodeJson,
  encodeNumbers,
  type PairConnect,
  type PairSetup,
  type ReadSetup,
  type TargetReplacement,
} from '../records.js';
import { Channel, type ChannelEvents, type TargetWriter } from './channel.js';
import type { Pair } from './pair.js';
import { type AdmittedBuffer, RpcBackupPair } from './rpc-backup-pair.js';
import { RpcPrimaryPair } from './rpc-primary-pair.js';
import { WritePair } from './write-pair.js';

/** All logs and backups of a process, in the data plane's worker. */
export class TailwindProtocol implements Protocol, ChannelEvents {
  readonly #pairs = new Map<number, Pair>();
  readonly #channels = new Map<number, Channel>();
  readonly #buffers = new Map<number, AdmittedBuffer>();
  /** Pairs that are going, whose last requests come back yet. */
  #dropping = 0;
  /** Acknowledgements of this turn: one event each, however many appends they cover. */
  readonly #acknowledged = new Map<number, number>();

  constructor(private readonly context: ProtocolContext) {}

  onCommand(kind: number, request: number, payload: Uint8Array): void {
    switch (kind) {
      case Command.APPEND:
        this.#append(payload);
        break;
      case Command.RESUME:
        this.#channels.get(decodeNumbers(payload)[0]!)?.resume();
        break;
      case Command.REPLACE:
        this.#replace(decodeJson(payload));
        break;
      case Command.PAIR:
        this.#answer(request, this.#createPair(decodeJson(payload)));
        break;
      case Command.CONNECT:
        this.#answer(request, this.#connect(decodeJson(payload)));
        break;
      case Command.DROP:
        this.#answer(request, this.#drop(decodeNumbers(payload)[0]!));
        break;
      case Command.READ:
        this.#answer(request, this.#read(decodeJson(payload)));
        break;
      default:
        if (this.#changeTables(kind, payload)) this.context.reply(request);
        else this.context.fail(request, 'ERR_RDMC_UNKNOWN_COMMAND', `There is no tailwind command ${kind}`);
    }
  }

  /** Whether no request is on its way. */
  get isIdle(): boolean {
    for (const pair of this.#pairs.values()) if (pair.isBusy) return false;
    return this.#dropping === 0;
  }

  onTurn(): void {
    for (const [channel, sequence] of this.#acknowledged) {
      this.context.emit(Event.ACKED, encodeNumbers(channel, sequence));
    }
    this.#acknowledged.clear();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pairs.values()].map((pair) => pair.drop()));
  }

  acknowledged(channel: number, sequence: number): void {
    this.#acknowledged.set(channel, sequence);
  }

  lost(channel: number, target: number, reason: string): void {
    this.context.emit(Event.LOST, encodeJson({ channel, target, reason }));
  }

  caughtUp(channel: number, target: number): void {
    this.context.emit(Event.CAUGHT_UP, encodeNumbers(channel, target));
  }

  #append(payload: Uint8Array): void {
    const [channel, sequence, offset, lengthBytes] = decodeNumbers(payload) as [
      number,
      number,
      number,
      number,
    ];
    this.#channels.get(channel)?.append(sequence, offset, lengthBytes);
  }

  #replace({ channel, lost, target }: TargetReplacement): void {
    this.#channels.get(channel)?.replace(lost, target);
  }

  /** Commands that add or remove something; false for a command that does not exist. */
  #changeTables(kind: number, payload: Uint8Array): boolean {
    if (kind === Command.CHANNEL) {
      const setup = decodeJson<ChannelSetup>(payload);
      this.#channels.set(setup.channel, new Channel(setup, this.#writerOf, this));
      return true;
    }
    const [first, key, address, lengthBytes] = decodeNumbers(payload) as [number, number, number, number];
    if (kind === Command.END) this.#channels.delete(first);
    else if (kind === Command.ADMIT) this.#buffers.set(key, { pair: first, address, lengthBytes });
    else if (kind === Command.EVICT) this.#buffers.delete(first);
    else return false;
    return true;
  }

  readonly #writerOf = (pair: number): TargetWriter | undefined => {
    const found = this.#pairs.get(pair);
    return found instanceof WritePair || found instanceof RpcPrimaryPair ? found : undefined;
  };

  async #createPair({ pair: number, side, mode }: PairSetup): Promise<Uint8Array> {
    const pair = await makePair(this.context, number, side, mode, this.#buffers);
    this.#pairs.set(number, pair);
    this.context.wake();
    return encodeJson(pair.address);
  }

  async #connect({ pair, address, retryTimeoutMs }: PairConnect): Promise<Uint8Array> {
    const found = this.#pairs.get(pair);
    if (!found) throw goneError(pair);
    return encodeJson(await found.connect(address, retryTimeoutMs));
  }

  async #read(setup: ReadSetup): Promise<undefined> {
    const pair = this.#pairs.get(setup.pair);
    if (!(pair instanceof WritePair)) throw goneError(setup.pair);
    await pair.read(setup);
  }

  /** Targets that nothing is outstanding for are lost with the pair as well. */
  async #drop(number: number): Promise<undefined> {
    const pair = this.#pairs.get(number);
    if (!pair) return;
    this.#pairs.delete(number);
    const reason = pair.broken ?? 'the connection to it was ended';
    const dropped = pair.drop();
    for (const { targets } of this.#channels.values()) {
      for (const target of targets) {
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

  #answer(request: number, result: Promise<Uint8Array | undefined>): void {
    result.then(
      (payload) => this.context.reply(request, payload),
      (error: unknown) => {
        const { code, message } = error as { code?: unknown; message?: unknown };
        this.context.fail(request, typeof code === 'string' ? code : 'ERR_RDMC_WORKER', String(message));
      },
    );
  }
}

async function makePair(
  context: ProtocolContext,
  number: number,
  side: PairSetup['side'],
  mode: PairSetup['mode'],
  buffers: ReadonlyMap<number, AdmittedBuffer>,
): Promise<Pair> {
  if (mode === 'one-sided') return new WritePair(context, number);
  if (side === 'primary') return RpcPrimaryPair.create(context, number);
  return RpcBackupPair.create(context, number, buffers);
}

function goneError(pair: number): Error {
  return Object.assign(new Error(`queue pair ${pair} is gone`), { code: 'ERR_RDMC_MEMBER_LOST' });
}
