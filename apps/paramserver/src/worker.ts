import type { HiPowerNode, Requester, Responder } from '@rdmc/hipower';
import type { Block } from './blocks.js';
import { floatsOf } from './floats.js';
import { channelOptions, GRADIENTS, PARAMETERS, SERVER, type Settings } from './settings.js';

/** Sends its gradients to the server, block by block, and receives the sums. */
export class Worker {
  private constructor(
    readonly outgoing: Requester,
    readonly incoming: Responder,
    private readonly blocks: readonly Block[],
  ) {}

  static async open(node: HiPowerNode, settings: Settings, blocks: readonly Block[]): Promise<Worker> {
    const options = channelOptions(settings);
    const [outgoing, incoming] = await Promise.all([
      node.createRequester({ ...options, channel: GRADIENTS, to: SERVER }),
      node.createResponder({ ...options, channel: PARAMETERS, from: SERVER }),
    ]);
    return new Worker(outgoing, incoming, blocks);
  }

  /** One iteration: all gradients out, all sums in, at the same time. */
  async iterate(
    gradients: Float32Array,
    sums: Float32Array,
    onProgress: (blocks: number) => void,
  ): Promise<void> {
    await Promise.all([this.#send(gradients), this.#receive(sums, onProgress)]);
  }

  async close(): Promise<void> {
    const ending = this.outgoing.end();
    while (await this.incoming.readable()) {
      if (this.incoming.take() >= 0) throw new Error('the server sent more than the sums');
    }
    await Promise.all([ending, this.incoming.close()]);
  }

  async #send(gradients: Float32Array): Promise<void> {
    const memory = floatsOf(this.outgoing.memory);
    for (const { first, length } of this.blocks) {
      let slot = this.outgoing.reserve(length * 4);
      while (slot < 0) {
        await this.outgoing.hasRoom();
        slot = this.outgoing.reserve(length * 4);
      }
      memory.set(gradients.subarray(first, first + length), this.outgoing.offsetOf(slot) / 4);
      this.outgoing.commit(slot);
    }
  }

  async #receive(sums: Float32Array, onProgress: (blocks: number) => void): Promise<void> {
    const memory = floatsOf(this.incoming.memory);
    for (let block = 0; block < this.blocks.length; ) {
      const handle = this.incoming.take();
      if (handle < 0) {
        await this.incoming.readable();
        continue;
      }
      const from = this.incoming.offsetOf(handle) / 4;
      const { first, length } = this.blocks[block]!;
      sums.set(memory.subarray(from, from + length), first);
      this.incoming.release(handle);
      block += 1;
      onProgress(block);
    }
  }
}
