import { REPAIRS_PER_HEARTBEAT } from '../constants.js';
import type { Link } from '../link.js';
import type { Roster } from './roster.js';

/**
 * Finds peers whose roster differs. Rosters differ for a short time at each change, because the introducer tells all others; so a
 * digest counts only if it came after this member's last change. And rosters are sent to a few peers at once: in the end all
 * rosters are equal.
 */
export class Repairs {
  /** The version of this member's roster from which that of a peer differed. */
  readonly #differs = new WeakMap<Link, number>();

  /** Compares them now: later changes of this member's roster make the digest worthless. */
  heard(link: Link, digest: Buffer, own: Pick<Roster, 'digest' | 'version'>): void {
    if (digest.equals(own.digest)) this.#differs.delete(link);
    else this.#differs.set(link, own.version);
  }

  /** The peers to which this member's roster is to be sent now. */
  take(links: Iterable<Link>, version: number): Link[] {
    const found: Link[] = [];
    for (const link of links) {
      if (this.#differs.get(link) !== version) continue;
      this.#differs.delete(link);
      found.push(link);
      if (found.length === REPAIRS_PER_HEARTBEAT) break;
    }
    return found;
  }
}
