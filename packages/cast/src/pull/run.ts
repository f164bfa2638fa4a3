import type { Group } from '@rdmc/group';
import type { RunSeal } from '../seal/run-key.js';
import { newSecret } from '../seal/run-key.js';
import { Pump } from '../sender/pump.js';
import type { TokenBucket } from '../sender/token-bucket.js';
import { streamBlockSize } from '../stream-block-size.js';
import type { FetcherLink, Took } from './fetcher-link.js';
import { SERVER_ID } from './frames.js';
import { PULL_ALGORITHM, sendInGroup } from './group-sender.js';
import { PieceFiller } from './piece-filler.js';
import type { PullReaderThread } from './pull-reader-thread.js';
import type { ChangedFile } from './reader-orders.js';
import type { SwarmMesh } from './swarm-mesh.js';
import type { SwarmOptions } from './swarm-options.js';

/** What all runs of a swarm share. */
export interface RunEnvironment {
  readonly castId: string;
  readonly serverName: string;
  readonly mesh: SwarmMesh;
  readonly reader: PullReaderThread;
  readonly options: SwarmOptions;
  readonly bucket: TokenBucket;
  readonly messageBytes: number;
  /** Bytes of each piece. */
  readonly costs: Float64Array;
  readonly signal: AbortSignal;
  readonly onChanged: (changed: readonly ChangedFile[]) => void;
  /** Called with every group as soon as it is formed. */
  readonly onGroup?: ((group: Group, mesh: SwarmMesh, blockBytes: number) => void) | undefined;
}

/** What the members of a run have got. */
export interface RunOutcome {
  /** Undefined where the group came to its end. */
  readonly error: unknown;
  /** For the members that are left. */
  readonly took: ReadonlyMap<FetcherLink, Took>;
}

/** One group, and the pieces that are sent to it. It ends at the next boundary of messages after `stop`. */
export class Run {
  readonly filler: PieceFiller;
  readonly #pump: Pump;

  constructor(
    private readonly number: number,
    readonly links: readonly FetcherLink[],
    private readonly pieces: Uint32Array<ArrayBuffer>,
    private readonly environment: RunEnvironment,
  ) {
    const { reader, bucket, mesh, messageBytes, costs, onChanged } = environment;
    this.filler = new PieceFiller(reader, pieces, costs, onChanged);
    this.#pump = new Pump(this.filler, bucket, Promise.resolve(mesh.regions), messageBytes, () => 0);
  }

  /** Whether a message is being sent. */
  get isSending(): boolean {
    return this.#pump.outstanding > 0;
  }

  /**
   * Resolves when the group has ended and every member that is left has said what it got.
   * @param bytes sum of the pieces
   */
  async run(bytes: number): Promise<RunOutcome> {
    const { castId, serverName, reader, options } = this.environment;
    const secret = options.encrypt ? newSecret() : undefined;
    const seal: RunSeal | undefined = secret && {
      ...{ castId, secret },
      sender: serverName,
      run: this.number,
    };
    const members = [SERVER_ID, ...this.links.map(({ id }) => id)];
    const blockBytes = blockSizeOf(this.environment, bytes, this.links.length);
    await reader.beginRun({ seal, pieces: this.pieces });
    const answers = this.links.map(async (link) => ({ link, took: await link.took(this.number) }));
    for (const link of this.links) {
      link.send({
        type: 'run',
        run: this.number,
        algorithm: PULL_ALGORITHM,
        ...{ members, blockBytes },
        ...(secret && { secret: secret.toString('hex') }),
      });
    }
    let error: unknown;
    try {
      await this.#send(members, blockBytes);
    } catch (thrown) {
      error = thrown ?? new Error('the group failed');
      for (const link of this.links) link.send({ type: 'part', run: this.number });
    }
    const took = new Map<FetcherLink, Took>();
    for (const { link, took: its } of await Promise.all(answers)) if (its) took.set(link, its);
    return { error, took };
  }

  #send(members: readonly number[], blockBytes: number): Promise<void> {
    const { mesh, options, signal, onGroup } = this.environment;
    const { connectTimeoutMs, stallTimeoutMs } = options;
    return sendInGroup(this.#pump, {
      ...{ node: mesh.node, id: this.number, members, blockBytes, connectTimeoutMs, stallTimeoutMs, signal },
      onGroup: (group) => onGroup?.(group, mesh, blockBytes),
    });
  }
}

/** @param receivers of the group */
export function blockSizeOf(
  { mesh, options, messageBytes }: RunEnvironment,
  bytes: number,
  receivers: number,
): number {
  const { host } = mesh.node.members.find(({ id }) => id === SERVER_ID)!;
  const isInside = mesh.node.members.every((member) => member.host === host);
  const transport = isInside && options.transport !== 'tcp' ? 'shm' : 'tcp';
  return streamBlockSize({
    ...{ contentBytes: bytes, messageBytes, members: receivers + 1, transports: [transport] },
  });
}
