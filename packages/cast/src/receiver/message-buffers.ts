import { within } from '@rdmc/common';
import type { RdmcNode, ReceivedMessage } from '@rdmc/group';
import { MESSAGE_BUFFERS } from '../constants.js';
import { protocolError } from '../errors.js';

type Region = ReceivedMessage['region'];

/**
 * The memory messages arrive in: a few buffers, used again and again. Whoever wants one while none is free waits, and
 * that is what holds up the senders while the disk is behind.
 */
export class MessageBuffers {
  readonly #free: Region[] = [];
  /** Given to the group for messages that have not come whole. */
  readonly #promised = new Set<Region>();
  readonly #waiting: ((region: Region) => void)[] = [];
  #made = 0;

  constructor(
    private readonly node: RdmcNode,
    private readonly messageBytes: number,
  ) {}

  /** The first one, made ahead, so that the first message need not wait for it. */
  async prepare(): Promise<void> {
    this.#made += 1;
    this.#free.push(await this.node.allocate(this.messageBytes));
  }

  /** For `createGroup`. The region is not given as such, but as a range: so it stays ours. */
  readonly incoming = async (byteLength: number, { signal }: { readonly signal: AbortSignal }) => {
    if (byteLength > this.messageBytes) {
      throw protocolError(
        `a message of ${byteLength} bytes began; at most ${this.messageBytes} were announced`,
      );
    }
    const region = await this.#take(signal);
    this.#promised.add(region);
    return { region };
  };

  /** A message has come whole. */
  arrived(region: Region): void {
    this.#promised.delete(region);
  }

  /** What was in it is not needed any more. */
  give(region: Region): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(region);
    else this.#free.push(region);
  }

  /** The group has ended: what was promised to it is free. */
  reclaim(): void {
    this.#waiting.length = 0;
    for (const region of this.#promised) this.#free.push(region);
    this.#promised.clear();
  }

  async #take(signal: AbortSignal): Promise<Region> {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#made < MESSAGE_BUFFERS) {
      this.#made += 1;
      return this.node.allocate(this.messageBytes, { signal });
    }
    const freed = new Promise<Region>((resolve) => this.#waiting.push(resolve));
    return within(freed, { signal });
  }
}
