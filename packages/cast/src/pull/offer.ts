import { hostname } from 'node:os';
import { PULL_HASHES_IN_FRAME } from '../constants.js';
import type { FetcherLink } from './fetcher-link.js';
import { MAX_OFFERED_PROBLEMS, type ServerFrameOf } from './frames.js';
import type { OriginFacts } from './origin.js';
import type { PullReaderThread } from './pull-reader-thread.js';

/** Tells a fetcher what is served: totals and root hash, the list of entries, and the hashes of all pieces. */
export async function sendOffer(
  link: FetcherLink,
  facts: OriginFacts,
  swarm: Pick<ServerFrameOf<'offer'>, 'castId' | 'stallTimeoutMs'>,
  reader: PullReaderThread,
): Promise<void> {
  const { entries, files, directories, bytes, pieces, root, skipped, problems, problemCount, manifest } =
    facts;
  const listed = problems.slice(0, MAX_OFFERED_PROBLEMS);
  link.send({
    type: 'offer',
    ...{ ...swarm, serverName: hostname() },
    ...{ entries, files, directories, bytes, pieces, root, skipped, problemCount },
    problems: listed.map(({ path, code, message }) => ({ path, code, message })),
  });
  for (const { first, count, data } of manifest) {
    if (!link.alive) return;
    await link.sendSlowly({ type: 'entries', first, count, data });
  }
  for (let first = 0; first < pieces && link.alive; first += PULL_HASHES_IN_FRAME) {
    await link.sendSlowly({ type: 'hashes', first, data: await reader.hashes(first) });
  }
}
