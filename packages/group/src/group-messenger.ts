import type { GroupDirectory } from './group-directory.js';
import type { RingAddress } from './records.js';
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
    this.directory.send(root, { ...this.#to(root), type: 'arrived', messages, ages });
  }

  /** That member is to enlarge the ring of that sender. */
  enlarge(member: number, sender: number): void {
    this.directory.send(member, { ...this.#to(member), type: 'enlarge', sender });
  }

  /** The answer of this member. */
  enlarged(member: number, sender: number, ring: RingAddress | null): void {
    this.directory.send(member, { ...this.#to(member), type: 'enlarged', sender, ring });
  }

  failed({ culprit, code, reason }: Verdict): void {
    this.#sendToAll((addressed) => ({ ...addressed, type: 'failed', culprit, code, reason }));
  }

  /** The group has failed, and this member has that number of messages; `from`: of each sender, in a group of many. */
  stopped(messages: number, from?: readonly number[]): void {
    const counts = { messages, ...(from && { from: [...from] }) };
    this.#sendToAll((addressed) => ({ ...addressed, type: 'stopped', ...counts }));
  }

  #to(member: number): { readonly group: number; readonly nonce: string; readonly to: string } {
    return { group: this.group, nonce: this.ownNonce, to: this.nonceOf(member) };
  }

  #sendToAll(message: (addressed: { group: number; nonce: string; to: string }) => WireMessage): void {
    for (const [member, to] of this.nonces) {
      this.directory.send(member, message({ group: this.group, nonce: this.ownNonce, to }));
    }
  }
}
