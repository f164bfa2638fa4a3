import { attachDevice, attachRegion, type MemoryRegion } from '@rdmc/verbs';
import { CHUNK_BYTES } from '../constants.js';
import type { SinkFailure } from '../writer/file-taker.js';
import type { OrderPort } from '../writer/order-port.js';
import type { ByteRange } from './coverage.js';
import type { MemoryAnswer, MemoryOrder, PlaceFacts } from './memory-orders.js';
import type { MemoryPlace, MemoryTarget, SizedFile } from './memory-target.js';
import type { Tensor } from './safetensors.js';

type Port = OrderPort<MemoryOrder, MemoryAnswer>;

/** Memory that the application gives, through the port to its thread. */
export class PortTarget implements MemoryTarget {
  constructor(private readonly port: Port) {}

  async allocate({ index, path, size, mode, time }: SizedFile): Promise<MemoryPlace | undefined> {
    const { place } = await this.port.order({ type: 'allocate', index, path, size, mode, time });
    return place && placeOf(place, this.port, index);
  }

  async tensors(index: number, tensors: readonly Tensor[]): Promise<void> {
    await this.port.order({ type: 'tensors', index, tensors });
  }

  async file(index: number, ranges: readonly ByteRange[]): Promise<void> {
    await this.port.order({ type: 'file', index, ranges });
  }

  async fail(index: number, { code, message }: SinkFailure): Promise<void> {
    await this.port.order({ type: 'fail', index, code, message });
  }

  finish(): void {}

  giveUp(): void {
    this.port.giveUp();
  }

  close(): void {
    this.port.close();
  }
}

function placeOf(facts: PlaceFacts, port: Port, index: number): MemoryPlace {
  if (facts.kind === 'port') return new PortPlace(port, index);
  if (facts.kind === 'shared') return new SharedPlace(facts.bytes);
  return new RegionPlace(attachRegion(attachDevice(facts.device), facts.region));
}

class SharedPlace implements MemoryPlace {
  constructor(private readonly bytes: Uint8Array) {}

  write(offset: number, bytes: Buffer): void {
    this.bytes.set(bytes, offset);
  }

  zeros(offset: number, length: number): void {
    this.bytes.fill(0, offset, offset + length);
  }
}

/** A view for each write: one view of a large region may be longer than a typed array can be. */
class RegionPlace implements MemoryPlace {
  constructor(private readonly region: MemoryRegion) {}

  write(offset: number, bytes: Buffer): void {
    this.region.view(offset, bytes.length).set(bytes);
  }

  zeros(offset: number, length: number): void {
    this.region.view(offset, length).fill(0);
  }
}

/** Memory that only the application's thread can write: it gets copies. */
class PortPlace implements MemoryPlace {
  constructor(
    private readonly port: Port,
    private readonly index: number,
  ) {}

  write(offset: number, bytes: Buffer): Promise<void> {
    return this.#give(offset, new Uint8Array(bytes));
  }

  async zeros(offset: number, length: number): Promise<void> {
    for (let done = 0; done < length; done += CHUNK_BYTES)
      await this.#give(offset + done, new Uint8Array(Math.min(CHUNK_BYTES, length - done)));
  }

  async #give(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.port.order({ type: 'write', index: this.index, offset, bytes }, [bytes.buffer]);
  }
}
