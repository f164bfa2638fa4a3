import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { SerialQueue, within } from '@rdmc/common';
import { MemoryRegion } from '@rdmc/verbs';
import type { SinkEntry } from '../entry-sink.js';
import { CastError, invalidOption } from '../errors.js';
import type { CastMemory, FileMemory, MemoryEvent } from '../memory/file-memory.js';
import type { MemoryAnswer, MemoryOrder, PlaceFacts } from '../memory/memory-orders.js';
import { shown } from '../stream/paths.js';
import { type CastFacts, sinkEntryOf } from './sink-entry.js';
import { sinkFailure } from './sink-failure.js';

type OrderOf<T extends MemoryOrder['type']> = Extract<MemoryOrder, { type: T }>;

interface GivenMemory {
  readonly entry: SinkEntry;
  readonly memory: FileMemory;
  /** Keeps a region open while the writer's thread may write to it. */
  readonly hold: Disposable | undefined;
  /** Whether the application was told that it is whole. */
  isWhole: boolean;
}

/** The application's end of the port to the memory of one cast: asks for memory, and reports what is whole. */
export class MemoryFeeder {
  /** For the writer's thread. */
  readonly workerPort: MessagePort;
  readonly #port: MessagePort;
  readonly #turn = new SerialQueue();
  readonly #over = new AbortController();
  readonly #given = new Map<number, GivenMemory>();
  #latest = 'a file';
  #failure: CastError | undefined;

  constructor(
    private readonly memory: CastMemory,
    private readonly facts: CastFacts,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.workerPort = port2;
    this.#port = port1;
    port1.on('message', (order: MemoryOrder) => void this.#turn.run(() => this.#answer(order)));
  }

  /** The cast is over: the application is told which files are not whole. Idempotent. */
  close(reason: CastError | undefined): void {
    if (this.#over.signal.aborted) return;
    const error = reason ?? new CastError('ERR_RDMC_ABORTED', 'the cast ended before the file was whole');
    this.#over.abort(error);
    this.#port.close();
    for (const { entry, isWhole } of this.#given.values())
      if (!isWhole) this.#tell({ type: 'failed', entry, code: error.code, message: error.message });
  }

  /** The writer's thread has ended: the application may close its regions. */
  release(): void {
    for (const { hold } of this.#given.values()) hold?.[Symbol.dispose]();
    this.#given.clear();
  }

  async #answer(order: MemoryOrder): Promise<void> {
    this.#port.postMessage(await this.#result(order));
  }

  async #result(order: MemoryOrder): Promise<MemoryAnswer> {
    try {
      if (this.#failure) throw this.#failure;
      return await within(this.#do(order), { signal: this.#over.signal });
    } catch (cause) {
      this.#failure ??= sinkFailure('memory', this.#latest, cause);
      const { code, message } = this.#failure;
      return { error: { code, message } };
    }
  }

  async #do(order: MemoryOrder): Promise<MemoryAnswer> {
    if (order.type === 'allocate') return { place: await this.#allocate(order) };
    const given = this.#given.get(order.index)!;
    const { entry, memory } = given;
    if (order.type === 'write') bytesOf(memory).set(order.bytes, order.offset);
    else if (order.type === 'tensors') this.#showTensors(given, order);
    else if (order.type === 'file') {
      given.isWhole = true;
      const bytes = bytesOf(memory).subarray(0, entry.size);
      this.memory.arrived({ type: 'file', entry, ranges: order.ranges, bytes });
    } else {
      given.hold?.[Symbol.dispose]();
      this.#given.delete(order.index);
      this.memory.arrived({ type: 'failed', entry, code: order.code, message: order.message });
    }
    return {};
  }

  #showTensors({ entry, memory }: GivenMemory, { tensors }: OrderOf<'tensors'>): void {
    for (const tensor of tensors) {
      const bytes = bytesOf(memory, tensor.begin, tensor.end);
      this.memory.arrived({ type: 'tensor', entry, tensor, bytes });
    }
  }

  async #allocate(order: OrderOf<'allocate'>): Promise<PlaceFacts | undefined> {
    const { index, size } = order;
    this.#latest = shown(order.path);
    const entry = sinkEntryOf(this.facts, order);
    const memory = await this.memory.allocate(entry);
    if (memory === undefined) return undefined;
    const { aborted, reason } = this.#over.signal;
    if (aborted) {
      // The cast has ended meanwhile.
      const { code, message } = reason as CastError;
      this.#tell({ type: 'failed', entry, code, message });
      throw reason;
    }
    const place = placeOf(memory, size, this.#latest);
    const hold = memory instanceof MemoryRegion ? memory.hold() : undefined;
    this.#given.set(index, { entry, memory, hold, isWhole: false });
    return place;
  }

  /** At the end of a cast, nobody is left to whom an error could be reported. */
  #tell(event: MemoryEvent): void {
    try {
      this.memory.arrived(event);
    } catch {
      // The cast has failed already.
    }
  }
}

function bytesOf(memory: FileMemory, begin = 0, end?: number): Uint8Array {
  if (memory instanceof MemoryRegion) return memory.view(begin, (end ?? memory.byteLength) - begin);
  const whole = memory instanceof Uint8Array ? memory : new Uint8Array(memory);
  return whole.subarray(begin, end);
}

/** @throws CastError ERR_RDMC_INVALID_OPTION where it is not memory, or too little */
function placeOf(memory: FileMemory, size: number, name: string): PlaceFacts {
  const isKnown = [MemoryRegion, Uint8Array, SharedArrayBuffer].some((kind) => memory instanceof kind);
  if (!isKnown)
    throw invalidOption(`memory: needed a SharedArrayBuffer, a Uint8Array or a region for ${name}`);
  if (memory.byteLength < size)
    throw invalidOption(`memory: ${name} has ${size} bytes, its memory ${memory.byteLength}`);
  if (memory instanceof MemoryRegion)
    return { kind: 'region', device: memory.device.handle, region: memory.handle };
  const bytes = bytesOf(memory);
  return bytes.buffer instanceof SharedArrayBuffer ? { kind: 'shared', bytes } : { kind: 'port' };
}
