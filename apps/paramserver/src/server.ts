import type { HiPowerNode, Requester, Responder } from '@rdmc/hipower';
import type { Block } from './blocks.js';
import { floatsOf } from './floats.js';
import { channelOptions, GRADIENTS, PARAMETERS, type Settings } from './settings.js';

/**
 * Gathers gradients, sums them, and broadcasts the sums. Only the device copies: a block is
 * summed from the slots in which it arrived into the slot from which it is sent. Always in the order of the workers,
 * because sums of fp32 depend on it.
 */
export class Server {
  readonly #values: Float32Array;
  readonly #sums: Float32Array;
  /** Per worker, handles of blocks that wait for those of slower workers, oldest first. */
  readonly #waiting: number[][];

  private constructor(
    readonly incoming: Responder,
    readonly outgoing: Requester,
    private readonly blocks: readonly Block[],
    private readonly workers: readonly number[],
  ) {
    this.#values = floatsOf(incoming.memory);
    this.#sums = floatsOf(outgoing.memory);
    this.#waiting = workers.map(() => []);
  }

  static async open(node: HiPowerNode, settings: Settings, blocks: readonly Block[]): Promise<Server> {
    const workers = Array.from({ length: settings.workers }, (_, index) => index + 1);
    const options = channelOptions(settings);
    const [incoming, outgoing] = await Promise.all([
      node.createResponder({ ...options, channel: GRADIENTS, from: workers }),
      node.createRequester({ ...options, channel: PARAMETERS, to: workers }),
    ]);
    return new Server(incoming, outgoing, blocks, workers);
  }

  /** One iteration: every block of every worker, and every sum to all of them. */
  async iterate(onProgress: (blocks: number) => void): Promise<void> {
    for (let block = 0; block < this.blocks.length; ) {
      this.#takeAll();
      if (this.#waiting.some(({ length }) => length === 0)) {
        await this.incoming.readable();
        continue;
      }
      const slot = this.outgoing.reserve(this.blocks[block]!.length * 4);
      if (slot < 0) {
        await this.outgoing.hasRoom();
        continue;
      }
      this.#sum(slot, this.blocks[block]!.length);
      this.outgoing.commit(slot);
      block += 1;
      onProgress(block);
    }
  }

  /** Resolves when every worker has received everything. */
  drain(): Promise<void> {
    return this.outgoing.drain();
  }

  async close(): Promise<void> {
    const ending = this.outgoing.end();
    while (await this.incoming.readable()) {
      if (this.incoming.take() >= 0) throw new Error('a worker sent more than its gradients');
    }
    await Promise.all([ending, this.incoming.close()]);
  }

  #takeAll(): void {
    for (let handle = this.incoming.take(); handle >= 0; handle = this.incoming.take()) {
      this.#waiting[this.workers.indexOf(this.incoming.senderOf(handle))]!.push(handle);
    }
  }

  #sum(slot: number, length: number): void {
    const to = this.outgoing.offsetOf(slot) / 4;
    const sums = this.#sums;
    const values = this.#values;
    this.#waiting.forEach((handles, worker) => {
      const handle = handles.shift()!;
      const from = this.incoming.offsetOf(handle) / 4;
      if (worker === 0) sums.set(values.subarray(from, from + length), to);
      else for (let i = 0; i < length; i += 1) sums[to + i]! += values[from + i]!;
      this.incoming.release(handle);
    });
  }
}
