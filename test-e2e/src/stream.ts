import type { Cluster } from './cluster.js';
import type { Outcome, Reached } from './member-types.js';

/** Content that differs from one message to the next. */
export interface Content {
  readonly seed: number;
  readonly variants: number;
}

export interface StreamOptions extends Content {
  readonly group: number;
  /** The root first. */
  readonly ids: readonly number[];
  readonly byteLength: number;
  /** 'endless': until a message fails, so that a busy machine does not send all before a member is lost. */
  readonly count: number | 'endless';
  /** Messages that must have arrived at every receiver before it is a stream; a fraction means "in the middle of one". */
  readonly arrived?: number;
  /** Further options of the group. */
  readonly options?: object;
}

export interface Stream {
  readonly cluster: Cluster;
  readonly options: StreamOptions;
  /** Result of each send, when all have ended. */
  readonly sends: Promise<Outcome[]>;
}

/**
 * Many messages queued at once. Resolves in the middle of them: every receiver has some complete ones and a part of one, others
 * are still queued.
 */
export async function startStream(cluster: Cluster, options: StreamOptions): Promise<Stream> {
  const { group, ids, byteLength, count, seed, variants, arrived = 2.5 } = options;
  const [root, ...receivers] = ids.map((id) => cluster.at(id));
  await cluster.createGroup(group, ids, {
    blockBytes: 256 * 1024,
    expect: { seed, variants },
    keep: 2,
    ...options.options,
  });
  const sends = root!.call<Outcome[]>('send', { group, seed, variants, byteLength, count }, 240_000);
  // It may be unobserved if a test fails earlier.
  sends.catch(() => {});
  const least = arrived * byteLength;
  await cluster.all(
    (member) => member.call<Reached>('reached', { group, field: 'bytesReceived', least }),
    receivers,
  );
  return { cluster, options, sends };
}
