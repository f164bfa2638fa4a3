import { REPAIRS_PER_HEARTBEAT } from '../constants.js';
import type { Link } from '../link.js';

/** A peer's digest, and the version of this member's roster when it came. */
interface Seen {
  readonly digest: Buffer;
  readonly version: number;
}

/**
 * Finds peers whose roster differs. Rosters differ for a short time at each change, because the introducer tells all others; so a
 * digest counts only if it came after this member's last change. And rosters are sent to a few peers at once: in the end all
 * rosters are equal.
 */
export class Repairs {
  readonly #seen = new WeakMap<Link, Seen>();

  heard(link: Link, digest: Buffer, version: number): void {
    this.#seen.set(link, { digest, version });
  }

  /** The peers to which this member's roster is to be sent now. */
  take(links: Iterable<Link>, digest: Buffer, version: number): Link[] {
    const found: Link[] = [];
    for (const link of links) {
      const seen = this.#seen.get(link);
      if (seen === undefined || seen.version !== version || seen.digest.equals(digest)) continue;
      this.#seen.delete(link);
      found.push(link);
      if (found.length === REPAIRS_PER_HEARTBEAT) break;
    }
    return found;
  }
}
