import type { ChildProcess } from 'node:child_process';
import { WatchedProcess } from '@rdmc/testing/watched-process';
import type { Ended, GroupTold } from './group-messages.js';

/** The harness's handle of one member. */
export class GroupMemberProcess extends WatchedProcess<GroupTold, 'kind'> {
  #isAsked = false;

  constructor(
    readonly id: number,
    child: ChildProcess,
  ) {
    super(child, 'kind', { name: `member ${id}` });
  }

  /** How the first group has ended here, if it has. */
  get end(): Ended | undefined {
    return this.endOf(0);
  }

  /** How its first group has ended, or its second one. */
  endOf(round: number): Ended | undefined {
    return this.named('ended').find((end) => end.round === round);
  }

  /** Messages that it has delivered, as far as it has said it. */
  get delivered(): number {
    return this.named('delivered').at(-1)?.count ?? 0;
  }

  get isClosing(): boolean {
    return this.named('closing').length > 0;
  }

  /** It sends nothing further, and closes the group. */
  finish(): void {
    if (this.#isAsked || this.gone || !this.child.connected) return;
    this.#isAsked = true;
    this.child.send({ finish: true }, () => {});
  }

  /** Resolves when its group has ended, or its process. */
  async over(): Promise<void> {
    await Promise.race([this.event('ended').catch(() => {}), this.exited]);
  }
}
