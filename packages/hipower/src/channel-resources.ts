import { createHash } from 'node:crypto';
import { type MemoryRegion, remoteKey } from '@rdmc/verbs';
import type { CheckedChannelOptions } from './channel-options.js';
import type { Environment } from './environment.js';
import { BOARD_STRIDE } from './layout/board.js';
import { boardsOffset, boardsRegionBytes } from './layout/boards-region.js';
import { ChannelMemory, channelMemoryBytes } from './layout/channel-memory.js';
import { slotStride } from './layout/footer.js';
import { refreshLimit } from './machine/refresh-rule.js';
import type { ChannelSetup, RemoteMemory, Role } from './records.js';

/** What traces call a channel: the same at both ends. */
function tracedId(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32LE(0);
}

/** The registered memory of one end of a channel: pool, boards, and the memory that it shares with its worker. */
export class ChannelResources {
  readonly memory: ChannelMemory;

  private constructor(
    private readonly role: Role,
    private readonly options: CheckedChannelOptions,
    private readonly shared: MemoryRegion,
    readonly pool: MemoryRegion,
    readonly boards: MemoryRegion,
  ) {
    this.memory = new ChannelMemory(shared.view(), slotsInRing(role, options), options.peers.length);
    this.memory.clear();
    boards.view().fill(0);
    pool.view().fill(0);
  }

  /** Registered once, when the channel is created (section 3.1). @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  static async allocate(
    { protectionDomain }: Environment,
    role: Role,
    options: CheckedChannelOptions,
  ): Promise<ChannelResources> {
    const { slots, slotBytes, peers } = options;
    const isResponder = role === 'responder';
    const pools = isResponder ? peers.length : 1;
    const regions: MemoryRegion[] = [];
    const allocate = async (bytes: number, access: object): Promise<MemoryRegion> => {
      const region = await protectionDomain.allocate(bytes, access);
      regions.push(region);
      return region;
    };
    try {
      const shared = await allocate(channelMemoryBytes(slotsInRing(role, options), peers.length), {});
      const pool = await allocate(pools * slots * slotStride(slotBytes), { remoteWrite: isResponder });
      const access = { remoteRead: true, remoteWrite: isResponder };
      const boards = await allocate(boardsRegionBytes(role, peers.length), access);
      return new ChannelResources(role, options, shared, pool, boards);
    } catch (error) {
      for (const region of regions) await region.close();
      throw error;
    }
  }

  setup(channel: number): ChannelSetup {
    const { peers, slots, slotBytes, mode, confirmation, spinMs, maxIdleMs, retryTimeoutMs } = this.options;
    const { pushAfterCompletion } = this.options;
    return {
      channel,
      role: this.role,
      peers: peers.length,
      slots,
      slotBytes,
      mode,
      confirmation,
      refreshLimit: refreshLimit(slotsInRing(this.role, this.options), this.options.refreshThreshold),
      spinMs,
      maxIdleMs,
      pushAfterCompletion,
      retryTimeoutMs,
      memory: this.shared.handle,
      pool: this.pool.handle,
      boards: this.boards.handle,
      traced: { channel: tracedId(this.options.channel), peers },
    };
  }

  /** Addresses and keys of the peer's part. */
  remote(peer: number): RemoteMemory {
    const { slots, slotBytes } = this.options;
    const isResponder = this.role === 'responder';
    const poolOffset = isResponder ? peer * slots * slotStride(slotBytes) : 0;
    return {
      poolAddress: isResponder ? this.pool.address + poolOffset : 0,
      poolRkey: isResponder ? this.pool.rkey : remoteKey(0),
      boardsAddress: this.boards.address + boardsOffset(this.role, peer),
      boardsRkey: this.boards.rkey,
    };
  }

  /** Bitmap P towards a requester. */
  releasedBits(peer: number): Int32Array {
    const view = this.boards.view(boardsOffset('responder', peer), BOARD_STRIDE);
    return new Int32Array(view.buffer, view.byteOffset + 16, (BOARD_STRIDE - 16) >> 2);
  }

  /** Call it after the queue pairs are closed. */
  async close(): Promise<void> {
    await Promise.all([this.shared.close(), this.pool.close(), this.boards.close()]);
  }
}

/** Entries of a channel's rings, before the ends of peers. */
function slotsInRing(role: Role, { slots, peers }: CheckedChannelOptions): number {
  return role === 'responder' ? slots * peers.length : slots;
}
