import type { GroupDirectory } from './group-directory.js';
import type { Verdict, WireMessage } from './wire-messages.js';

/** Sends the messages of this member to the other members of its group, once the group exists. */
export class GroupMessenger {
  constructor(
    private readonly directory: GroupDirectory,
    private readonly group: number,
    private readonly ownNonce: string,
    /** Nonces of the other members. */
    private readonly nonces: ReadonlyMap<number, string>,
  ) {}

  /** Whether a message with this nonce is from that member's use of this group's id. */
  knows(member: number, nonce: string): boolean {
    return this.nonces.get(member) === nonce;
  }

  nonceOf(member: number): string {
    return this.nonces.get(member)!;
  }

  /** This member has closed as a sender, after `messages` messages. */
  sent(messages: number): void {
    this.#sendToAll((addressed) => ({ ...addressed, type: 'sent', messages }));
  }

  /** This member has all messages, and has sent on its part of them. */
  stored(): void {
    this.#sendToAll((addressed) => ({ ...addressed, type: 'stored' }));
  }

  /** This member has these messages, since so many microseconds each. */
  arrived(root: number, messages: number[], ages: number[]): void {
    const addressed = { group: this.group, nonce: this.ownNonce, to: this.nonceOf(root) };
    this.directory.send(root, { ...addressed, type: 'arrived', messages, ages });
  }

  failed({ culprit, code, reason }: Verdict): void {
    this.#sendToAll((addressed) => ({ ...addressed, type: 'failed', culprit, code, reason }));
  }

  /** The group has failed, and this member has that number of messages; `from`: of each sender, in a group of many. */
  stopped(messages: number, from?: readonly number[]): void {
    const counts = { messages, ...(from && { from: [...from] }) };
    this.#sendToAll((addressed) => ({ ...addressed, type: 'stopped', ...counts }));
  }

  #sendToAll(message: (addressed: { group: number; nonce: string; to: string }) => WireMessage): void {
    for (const [member, to] of this.nonces) {
      this.directory.send(member, message({ group: this.group, nonce: this.ownNonce, to }));
    }
  }
}
