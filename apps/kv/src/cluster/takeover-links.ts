import type { Buffer } from 'node:buffer';
import { anySignal } from '@rdmc/common';
import { KvError } from '../errors.js';
import type { PeerLink } from './peer-link.js';
import type { PeerLinks } from './peer-links.js';

/**
 * The connections that one attempt of a takeover uses, from its first frame to its end. Frames on a connection that breaks
 * may be lost, and a frame is not sent twice: so the attempt must end then, and another one begin.
 */
export class TakeoverLinks {
  readonly #links = new Map<number, PeerLink>();
  /** Aborted, with the reason, when one of them broke, or by `ended`. */
  readonly signal: AbortSignal;

  /** @throws KvError ERR_RDMC_KV_MEMBER_LOST where there is no connection with one of the members */
  constructor(peers: PeerLinks, members: readonly number[], ended: AbortSignal) {
    for (const member of members) {
      const link = peers.link(member);
      if (!link) throw new KvError('ERR_RDMC_KV_MEMBER_LOST', `there is no connection with member ${member}`);
      this.#links.set(member, link);
    }
    this.signal = anySignal(ended, ...[...this.#links.values()].map(({ signal }) => signal));
  }

  /** Names the connection with a member, at both ends. */
  session(member: number): string {
    return this.#links.get(member)!.session;
  }

  /** Sends entries; resolves when there is room for more. */
  async send(member: number, takeover: number, records: readonly Buffer[]): Promise<void> {
    await this.#links.get(member)!.sendRecords(takeover, records, this.signal);
  }
}
