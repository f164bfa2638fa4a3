import { type PreparedRdmcNode, RdmcNode } from '@rdmc/group';

/** The worker of the next cast's node. It is started ahead, so that a cast need not wait for it. */
export class SpareNode {
  #spare: PreparedRdmcNode | undefined;
  #ended = false;

  /** Returns the spare worker for a cast. Undefined where there is none: the cast starts its own. */
  take(): PreparedRdmcNode | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare?.isWaiting ? spare : undefined;
  }

  /** Call this when a cast may come and no other one is in progress. */
  refill(): void {
    if (!this.#ended) this.#spare ??= RdmcNode.prepare();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#spare?.close();
  }
}
