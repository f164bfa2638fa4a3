import type { CompletionHandler, ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  type Device,
  Layout,
  type MemoryRegion,
  Opcode,
  openDevice,
  Status,
} from '@rdmc/verbs';
import { groupMemoryBytes } from '../../src/group-memory.js';
import type { GroupRecords, GroupSetup, PairAddress, Trouble } from '../../src/records.js';
import { createSlotTable } from '../../src/slots.js';
import { NO_KEY } from '../../src/worker/block-range.js';
import { GroupProtocol } from '../../src/worker/group-protocol.js';

const TWO_32 = 4_294_967_296;
const BLOCK_BYTES = 1000;
const WINDOWS = { receiveWindow: 4, sendWindow: 1, relaysAhead: 0 };

/** Of the device's requests: `up` completes them; `cut` fails them after the retry time-out; `lost` does neither. */
export type Path = 'up' | 'cut' | 'lost';

/** The memory of a group, on a real device. */
export interface Memory {
  readonly device: Device;
  readonly region: MemoryRegion;
  close(): Promise<void>;
}

export async function openMemory(): Promise<Memory> {
  const device = await openDevice({ device: 'soft' });
  // Its requests are those of the model below, which may lose some.
  Object.defineProperty(device, 'kind', { value: 'infiniband' });
  const region = await device.allocateProtectionDomain().allocate(groupMemoryBytes(WINDOWS));
  return {
    device,
    region,
    close: async () => {
      await region.close();
      await device.close();
    },
  };
}

/**
 * The worker side of a root that waits: it has a message, and its receiver announces nothing. The device is a model on the
 * timers of the test, which are not those of the system.
 */
export class WatchedMember {
  path: Path = 'up';
  /** The group's first trouble. */
  readonly trouble: Promise<Trouble>;
  readonly #protocol: GroupProtocol;
  readonly #handlers = new Map<number, CompletionHandler>();
  #queuePairs = 0;

  constructor(
    { device, region }: Memory,
    private readonly retryTimeoutMs: number,
  ) {
    let told!: (trouble: Trouble) => void;
    this.trouble = new Promise((resolve) => {
      told = resolve;
    });
    const nothing = (): void => {};
    const context = {
      ...{ device, data: createSlotTable(), detach: nothing, wake: () => this.turn() },
      completionQueue: { depth: Layout.POLL_SLOTS },
      events: { trouble: told, incoming: nothing, finished: nothing },
      protectionDomain: { createQueuePair: () => this.#createQueuePair() },
      submission: { begin: this.#begin, remote: nothing, immediate: nothing, sge: nothing },
      attach: ({ number }: { number: number }, handler: CompletionHandler) =>
        this.#handlers.set(number, handler),
    };
    this.#protocol = new GroupProtocol(context as unknown as ProtocolContext<GroupRecords>);
    this.#open(region.handle);
  }

  /** A turn of the worker. */
  turn(): void {
    this.#protocol.onTurn();
  }

  stop(): Promise<void> {
    return this.#protocol.stop();
  }

  #open(region: number): void {
    const { commands } = this.#protocol;
    const ends = { group: 0, id: 1, members: [0, 1], nodes: 2, rank: 0, neighbours: [1], firstPair: -1 };
    const parts = { region, slots: null, small: null, rings: null, table: null, racks: undefined };
    const priority = { weight: 1, trafficClass: 0, serviceLevel: 0 };
    const options = {
      algorithm: 'chain',
      retryTimeoutMs: this.retryTimeoutMs,
      maxBlockBytes: BLOCK_BYTES,
    } as const;
    const setup: GroupSetup = { ...ends, ...parts, ...priority, ...options, ...WINDOWS };
    commands.open(setup);
    commands.createPair({ group: 0, pair: 0 });
    void commands.connect({ group: 0, pair: 0, address: {} as PairAddress });
    commands.start(0, WINDOWS.sendWindow, WINDOWS.receiveWindow, BLOCK_BYTES);
    commands.send(0, 0, 0, BLOCK_BYTES, NO_KEY, BLOCK_BYTES);
    this.turn();
  }

  #createQueuePair(): object {
    this.#queuePairs += 1;
    return {
      number: this.#queuePairs,
      connect: async () => {},
      modifyToError: () => {},
      close: async () => {},
    };
  }

  readonly #begin = (opcode: number, queuePair: number, id: number): void => {
    if (opcode === Opcode.RECEIVE || this.path === 'lost') return;
    const status = this.path === 'up' ? Status.SUCCESS : Status.RETRY_EXCEEDED;
    const delayMs = this.path === 'up' ? 0 : this.retryTimeoutMs;
    setTimeout(() => this.#complete(queuePair, id, status), delayMs);
  };

  #complete(queuePair: number, id: number, status: number): void {
    const words = new Uint32Array(Layout.COMPLETION_WORDS);
    words[CompletionWord.QUEUE_PAIR] = queuePair;
    words[CompletionWord.ID_LOW] = id % TWO_32;
    words[CompletionWord.ID_HIGH] = id / TWO_32;
    words[CompletionWord.STATUS] = status;
    this.#handlers.get(queuePair)!.onCompletion(words, 0);
    this.turn();
  }
}
