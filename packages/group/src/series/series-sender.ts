import { codeOf, Deferred, Fifo } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { GroupError } from '../errors.js';
import type { Group } from '../group.js';
import type { RegionRange } from '../group-options.js';

type Message = MemoryRegion | RegionRange | Uint8Array;

/** A message that is not settled: the next group gets it if this one fails. */
interface Pending {
  readonly message: Message;
  readonly number: Deferred<number>;
  state: 'waits' | 'sent' | 'refused';
}

/**
 * The sending end of a series: its messages go through successive groups, whose members may differ. The application makes the
 * groups, with `first` at all members. A message is settled when its group's `send` has resolved; those that were not when a
 * group failed are sent again in the next one, with the same numbers. The `send` of a small message resolves when it is in the
 * root's ring: what was there when a group failed is not sent again. `smallMessageBytes: 0` prevents that.
 */
export class SeriesSender {
  readonly #pending = new Fifo<Pending>();
  #group: Group | undefined;
  #settled = 0;

  /**
   * The number of the first message of the next group: give it to `createGroup` as `first` at all members. Receivers of a group
   * that failed may have more messages than that, and skip them; or fewer, and are told of a gap: see `GroupError.delivered`.
   */
  get first(): number {
    return this.#settled;
  }

  /**
   * Messages go through this group from now on; first those that are not settled. The group before it has ended.
   * @throws GroupError ERR_RDMC_NOT_ROOT, ERR_RDMC_MANY_SENDERS; ERR_RDMC_GROUP_MISMATCH where the group's `first` is not that
   *   of the series; ERR_RDMC_GROUP_EXISTS while the group before it is open
   */
  use(group: Group): void {
    group.assertOneSender();
    if (!group.isRoot) {
      throw new GroupError('ERR_RDMC_NOT_ROOT', `Only the root of group ${group.id} sends`, {
        memberId: group.rootId,
      });
    }
    if (this.#group !== undefined && !this.#group.signal.aborted) {
      const text = `Group ${this.#group.id} of the series is open; close it first`;
      throw new GroupError('ERR_RDMC_GROUP_EXISTS', text);
    }
    if (group.first !== this.first) {
      const text = `Group ${group.id} begins with message ${group.first}, and the series goes on with ${this.first}`;
      throw new GroupError('ERR_RDMC_GROUP_MISMATCH', text, { field: 'first' });
    }
    this.#group = group;
    for (const pending of this.#pending) {
      // A small message is sent before a long one in front of it; the group that failed may have lost both.
      pending.state = 'waits';
      this.#transmit(group, pending);
    }
  }

  /**
   * Sends a message; without a group it waits for the next one. Resolves with its number when it is settled: its memory may be
   * used again then. Do not change it before.
   * @throws GroupError as `group.send` where the message itself is refused: it then has no number
   */
  send(message: Message): Promise<number> {
    const pending: Pending = { message, number: new Deferred(), state: 'waits' };
    this.#pending.push(pending);
    if (this.#group !== undefined && !this.#group.signal.aborted) this.#transmit(this.#group, pending);
    return pending.number.promise;
  }

  #transmit(group: Group, pending: Pending): void {
    group.send(pending.message).then(
      () => {
        // Else the next group sends it again.
        if (this.#group === group) this.#settle(pending);
      },
      (error: unknown) => {
        // The message of a group that has ended, or is being closed, waits for the next one.
        if (group.signal.aborted || codeOf(error) === 'ERR_RDMC_GROUP_CLOSED') return;
        pending.state = 'refused';
        pending.number.reject(error);
        this.#advance();
      },
    );
  }

  #settle(pending: Pending): void {
    pending.state = 'sent';
    this.#advance();
  }

  /** Numbers are given in the order of the calls, which is that of the messages in the group. */
  #advance(): void {
    for (
      let head = this.#pending.peek();
      head !== undefined && head.state !== 'waits';
      head = this.#pending.peek()
    ) {
      this.#pending.shift();
      if (head.state !== 'sent') continue;
      head.number.resolve(this.#settled);
      this.#settled += 1;
    }
  }
}
