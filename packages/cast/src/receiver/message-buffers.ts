import { within } from '@rdmc/common';
import type { RdmcNode, ReceivedMessage } from '@rdmc/group';
import { MESSAGE_BUFFERS } from '../constants.js';
import { protocolError } from '../errors.js';

type Region = ReceivedMessage['region'];

/**
 * The memory that messages are received into: a few buffers, used repeatedly. A message that needs one while none is
 * free waits; this is the backpressure on the sender while the disk is slower.
 */
export class MessageBuffers {
  readonly #free: Region[] = [];
  /** Regions of messages that the group is still receiving. */
  readonly #promised = new Set<Region>();
  readonly #waiting: ((region: Region) => void)[] = [];
  #made = 0;
  /** The buffer that is allocated ahead. */
  #first: Promise<void> | undefined;

  constructor(
    private readonly node: RdmcNode,
    private readonly messageBytes: number,
  ) {}

  /** Allocates the first buffer ahead. The first message waits for it. */
  prepare(): Promise<void> {
    this.#made += 1;
    this.#first = this.node.allocate(this.messageBytes).then((region) => this.give(region));
    return this.#first;
  }

  /** For `createGroup`. Returns a range rather than the region itself, so that the region stays ours. */
  readonly incoming = async (byteLength: number, { signal }: { readonly signal: AbortSignal }) => {
    if (byteLength > this.messageBytes) {
      throw protocolError(
        `a message of ${byteLength} bytes began; the sender announced at most ${this.messageBytes}`,
      );
    }
    const region = await this.#take(signal);
    this.#promised.add(region);
    return { region };
  };

  /** A message is complete. */
  arrived(region: Region): void {
    this.#promised.delete(region);
  }

  /** Frees a region whose message is stored. */
  give(region: Region): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(region);
    else this.#free.push(region);
  }

  /** The group has ended: frees the regions of its incomplete messages. */
  reclaim(): void {
    this.#waiting.length = 0;
    for (const region of this.#promised) this.#free.push(region);
    this.#promised.clear();
  }

  async #take(signal: AbortSignal): Promise<Region> {
    await this.#first;
    const free = this.#free.pop();
    if (free) return free;
    if (this.#made < MESSAGE_BUFFERS) return this.#allocate(signal);
    const freed = new Promise<Region>((resolve) => this.#waiting.push(resolve));
    return within(freed, { signal });
  }

  async #allocate(signal: AbortSignal): Promise<Region> {
    this.#made += 1;
    try {
      return await this.node.allocate(this.messageBytes, { signal });
    } catch (error) {
      // The group has ended meanwhile: the next one makes this buffer.
      this.#made -= 1;
      throw error;
    }
  }
}
