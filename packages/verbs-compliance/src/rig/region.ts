import assert from 'node:assert/strict';
import type {
  AccessOptions,
  DeviceAttributes,
  LocalKey,
  RemoteMemory,
  ScatterGatherEntry,
} from '@rdmc/verbs';
import type { CallArguments, CallName, CallResult } from '../agent/agent.js';
import type { RegionInfo } from '../agent/region-calls.js';

/** The peer of a region or a queue pair, as these know it. */
export interface RegionOwner {
  readonly label: string;
  readonly attributes: DeviceAttributes;
  /** The device's handle within its process. */
  readonly nativeHandle: number;
  call<Name extends CallName>(name: Name, args: CallArguments<Name>): Promise<CallResult<Name>>;
  newPd(): Promise<number>;
  region(byteLength: number, access?: AccessOptions, pd?: number): Promise<PeerRegion>;
}

/** A memory region of a peer, as the tests handle it. */
export class PeerRegion {
  constructor(
    readonly peer: RegionOwner,
    private readonly info: RegionInfo,
  ) {}

  get handle(): number {
    return this.info.region;
  }
  get nativeHandle(): number {
    return this.info.nativeHandle;
  }
  get length(): number {
    return this.info.length;
  }
  get lkey(): LocalKey {
    return this.info.lkey;
  }
  get address(): number {
    return this.info.address;
  }

  sge(offset = 0, byteLength = this.length - offset): ScatterGatherEntry {
    return { address: this.info.address + offset, byteLength, lkey: this.info.lkey };
  }

  remote(offset = 0): RemoteMemory {
    assert.notEqual(this.info.rkey, null, 'the test needs a remote key, which this memory does not have');
    return { address: this.info.address + offset, rkey: this.info.rkey! };
  }

  /** Fills a range with bytes `from`, `from + 1`, ... of a stream of the test pattern. */
  fill(seed: number, offset = 0, length = this.length - offset, from = 0): Promise<void> {
    return this.peer.call('fill', { region: this.handle, offset, length, seed, from });
  }

  /** Asserts that a range holds bytes `from`, ... of a stream. */
  async holds(seed: number, offset = 0, length = this.length - offset, from = 0): Promise<void> {
    const mismatch = await this.peer.call('check', { region: this.handle, offset, length, seed, from });
    const where = `range ${offset}+${length} of peer ${this.peer.label}, stream ${seed}`;
    assert.equal(mismatch, null, `${where}: ${JSON.stringify(mismatch)}`);
  }

  /** Asserts that a range holds a stream, and everything around it still holds another one. */
  async holdsOnly(seed: number, offset: number, length: number, around: number): Promise<void> {
    await this.holds(seed, offset, length);
    await this.holds(around, 0, offset, 0);
    await this.holds(around, offset + length, this.length - offset - length, offset + length);
  }

  read(offset = 0, length = this.length - offset): Promise<Uint8Array> {
    return this.peer.call('read', { region: this.handle, offset, length });
  }

  write(bytes: Uint8Array, offset = 0): Promise<void> {
    return this.peer.call('write', { region: this.handle, offset, bytes });
  }

  async word(offset = 0): Promise<bigint> {
    const bytes = await this.read(offset, 8);
    return Buffer.from(bytes.buffer, bytes.byteOffset, 8).readBigUInt64LE();
  }

  setWord(value: bigint, offset = 0): Promise<void> {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return this.write(new Uint8Array(bytes), offset);
  }

  checksum(): Promise<number> {
    return this.peer.call('checksum', { region: this.handle, offset: 0, length: this.length });
  }

  /** Revokes; returns the checksum taken right after. */
  revoke(): Promise<number> {
    return this.peer.call('revoke', { region: this.handle });
  }

  outstanding(): Promise<number> {
    return this.peer.call('outstanding', { region: this.handle });
  }

  close(): Promise<void> {
    return this.peer.call('close', { handle: this.handle });
  }

  closeNow(): Promise<void> {
    return this.peer.call('closeNow', { region: this.handle });
  }
}
