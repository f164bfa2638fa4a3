import { Fifo } from '@rdmc/common';
import { Opcode, type RemoteMemory, type ScatterGatherEntry, WorkRequestFlag } from '@rdmc/verbs';
import { MAX_OUTSTANDING } from '../constants.js';
import { TailwindError } from '../errors.js';
import type { ReadSetup } from '../records.js';
import type { LocalMemory, TargetWriter, Written } from './channel.js';
import { Pair } from './pair.js';

interface Operation {
  done(): void;
  fail(reason: string): void;
  post(pair: WritePair): void;
}

/**
 * The one-sided scheme at either side: WRITEs of appends, READs of recovery. The target's side does not do anything.
 */
export class WritePair extends Pair implements TargetWriter {
  readonly #outstanding = new Fifo<Operation>();
  /** Operations for which the queue pair does not have room yet. */
  readonly #waiting = new Fifo<Operation>();

  write(target: Written, sequence: number, from: LocalMemory, offset: number, byteLength: number): void {
    const { address, rkey } = target.setup;
    this.#start({
      done: () => target.complete(sequence),
      fail: (reason) => target.fail(reason),
      post: () => {
        const local = { address: from.address + offset, byteLength, lkey: from.lkey };
        this.#post(Opcode.WRITE, local, { address: address + offset, rkey });
      },
    });
  }

  read({ local, remote }: ReadSetup): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#start({
        done: resolve,
        fail: (reason) => reject(new TailwindError('ERR_RDMC_MEMBER_LOST', reason)),
        post: () => this.#post(Opcode.READ, local, remote),
      });
      this.context.wake();
    });
  }

  protected succeeded(): void {
    const operation = this.#outstanding.shift();
    const next = this.broken === undefined ? this.#waiting.shift() : undefined;
    if (next) this.#begin(next);
    operation?.done();
  }

  protected failed(reason: string): void {
    for (const queue of [this.#outstanding, this.#waiting]) {
      for (let next = queue.shift(); next; next = queue.shift()) next.fail(reason);
    }
  }

  #start(operation: Operation): void {
    if (this.broken !== undefined) operation.fail(this.broken);
    else if (this.#outstanding.length < MAX_OUTSTANDING) this.#begin(operation);
    else this.#waiting.push(operation);
  }

  #begin(operation: Operation): void {
    this.#outstanding.push(operation);
    operation.post(this);
    this.posted();
  }

  #post(opcode: number, local: ScatterGatherEntry, remote: RemoteMemory): void {
    const { submission } = this.context;
    submission.begin(opcode, this.queuePair.number, 0, WorkRequestFlag.SIGNALED);
    submission.sge(local.address, local.byteLength, local.lkey);
    submission.remote(remote.address, remote.rkey);
  }
}
