import type { GroupDirectory } from './group-directory.js';
import type { Verdict, WireMessage } from './wire-messages.js';

/** What this member says to the others of its group, once it exists. */
export class MemberVoice {
  constructor(
    private readonly directory: GroupDirectory,
    private readonly group: number,
    private readonly ownNonce: string,
    /** Nonces of the other members. */
    private readonly nonces: ReadonlyMap<number, string>,
  ) {}

  /** Whether a message with this nonce is of that member's part in this group. */
  knows(member: number, nonce: string): boolean {
    return this.nonces.get(member) === nonce;
  }

  nonceOf(member: number): string {
    return this.nonces.get(member)!;
  }

  /** The root has closed after so many messages. */
  sent(messages: number): void {
    this.#tell((addressed) => ({ ...addressed, type: 'sent', messages }));
  }

  /** This member has everything, and has passed on what it had to. */
  stored(): void {
    this.#tell((addressed) => ({ ...addressed, type: 'stored' }));
  }

  failed({ culprit, code, reason }: Verdict): void {
    this.#tell((addressed) => ({ ...addressed, type: 'failed', culprit, code, reason }));
  }

  #tell(message: (addressed: { group: number; nonce: string; to: string }) => WireMessage): void {
    for (const [member, to] of this.nonces) {
      this.directory.send(member, message({ group: this.group, nonce: this.ownNonce, to }));
    }
  }
}
