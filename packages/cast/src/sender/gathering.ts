import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { anySignal } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import { type Checksum, newChecksum } from '../checksum.js';
import { FIRST_GROUP_ID, SENDER_ID } from '../constants.js';
import type { Invitation } from '../control/frames.js';
import { CastError, messageOf } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { joinMesh } from '../join-mesh.js';
import { listenWithin, portOf } from '../ports.js';
import { streamBlockSize } from '../stream-block-size.js';
import { resolveHosts } from './dial.js';
import { describeOwn, groupFacts, membersOf, ownAddress, refuseTwins } from './membership.js';
import { ReceiverLink } from './receiver-link.js';

/** The sender and the receivers that have joined. */
export interface Gathered {
  readonly links: readonly ReceiverLink[];
  readonly node: RdmcNode;
  /** In every group of the cast. */
  readonly blockBytes: number;
  /** Address and port at which the receivers reach the sender. */
  readonly address: string;
  readonly checksum: Checksum;
}

/** Connects to receivers and joins the mesh with those that answer. */
export class Gathering {
  readonly #invitation: Omit<Invitation, 'castId'>;
  readonly #checksum: Checksum;

  constructor(
    private readonly options: CheckedCastOptions,
    private readonly survey: FileSurvey,
    private readonly messageBytes: number,
    private readonly signal: AbortSignal,
    /** Hears of every link that is made, before it is connected. */
    private readonly onLinks: (links: readonly ReceiverLink[]) => void,
  ) {
    const { files, directories, links, bytes, contentBytes } = survey;
    const { connectTimeoutMs, stallTimeoutMs } = options;
    this.#checksum = newChecksum(options.checksum);
    this.#invitation = {
      type: 'invite',
      senderName: hostname(),
      ...{ files, directories, links, bytes, contentBytes },
      ...{ messageBytes, connectTimeoutMs, stallTimeoutMs },
      checksum: this.#checksum.kind,
      checksumKey: Buffer.from(this.#checksum.key).toString('hex'),
    };
  }

  /** Where a receiver is lost on the way, begins again without it. Undefined where none is left. @throws CastError, MeshError */
  async run(targets: readonly Target[]): Promise<Gathered | undefined> {
    let wanted = targets;
    while (wanted.length > 0) {
      const links = await this.#connect(wanted);
      if (links.length === 0) return undefined;
      try {
        return await this.#join(links);
      } catch (error) {
        if (this.signal.aborted) throw error;
        blameForJoin(links, error);
      }
      const left = links.filter((link) => link.alive || (othersFailed(links) && hasWaitedInVain(link)));
      const again = new CastError(
        'ERR_RDMC_ABORTED',
        'the sender begins again without a receiver that was lost',
      );
      await Promise.all(left.map((link) => link.close(again)));
      wanted = left.map(({ target }) => target);
    }
    return undefined;
  }

  /** Returns those that are ready. */
  async #connect(targets: readonly Target[]): Promise<ReceiverLink[]> {
    const { sockets, connectTimeoutMs: timeoutMs } = this.options;
    const links = targets.map((target) => new ReceiverLink(target));
    this.onLinks(links);
    const addresses = await resolveHosts(targets);
    const invitation: Invitation = { ...this.#invitation, castId: randomUUID() };
    const opened = links.map(async (link) => {
      const address = addresses.get(link.target.host)!;
      if (address instanceof CastError) link.fail(address);
      else await link.open({ sockets, address, timeoutMs, signal: this.signal }, invitation);
    });
    await Promise.all(opened);
    this.signal.throwIfAborted();
    refuseTwins(links);
    return links.filter(({ alive }) => alive);
  }

  async #join(links: readonly ReceiverLink[]): Promise<Gathered> {
    const { key, device, transport, connectTimeoutMs, logger, advertise, meshPorts } = this.options;
    const own = ownAddress(links, advertise);
    const server = await listenWithin(own.localHost, meshPorts);
    const port = portOf(server);
    const members = membersOf(own, port, links);
    const blockBytes = this.#blockSize(own.localHost, links);
    const group = groupFacts(FIRST_GROUP_ID, links, { ...this.options, blockBytes });
    for (const link of links) link.send({ type: 'members', id: link.id, members, group });
    // Whoever is lost now would be waited for until the time-out.
    const lost = new AbortController();
    for (const link of links) void link.down.then(() => lost.abort());
    const node = await joinMesh({
      id: SENDER_ID,
      members,
      server,
      localHost: own.localHost,
      ports: meshPorts,
      ...{ key, device, transport, logger },
      timeoutMs: connectTimeoutMs,
      signal: anySignal(this.signal, lost.signal),
    });
    return { links, node, blockBytes, address: describeOwn(own, port), checksum: this.#checksum };
  }

  /** Blocks within one host travel through shared memory unless that is refused. */
  #blockSize(localHost: string, links: readonly ReceiverLink[]): number {
    const { blockBytes, transport } = this.options;
    if (blockBytes !== 'auto') return blockBytes;
    const inside = links.every(({ channel }) => channel.remoteHost === localHost);
    const transports = [inside && transport !== 'tcp' ? 'shm' : 'tcp'];
    return streamBlockSize(this.survey.contentBytes, this.messageBytes, links.length + 1, transports);
  }
}

/** The mesh names who did not come; else a control connection that ended tells. @throws where it was nobody */
function blameForJoin(links: readonly ReceiverLink[], error: unknown): void {
  const missing = (error as { missing?: readonly { id: number }[] }).missing?.map(({ id }) => id) ?? [];
  const culprits = links.filter(({ id }) => missing.includes(id));
  if (culprits.length === 0 && links.every(({ alive }) => alive)) throw error;
  for (const link of culprits) {
    const message = `${link.name} did not join in time: ${messageOf(error)}`;
    // One that has waited for others as long as the sender has may have said so first.
    if (hasWaitedInVain(link)) link.failure = undefined;
    link.fail(new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }));
  }
}

function othersFailed(links: readonly ReceiverLink[]): boolean {
  return links.some((link) => !link.alive && !hasWaitedInVain(link));
}

/** Receivers wait for the members as long as the sender does: one that gives up a moment earlier is not to blame. */
function hasWaitedInVain({ failure }: ReceiverLink): boolean {
  return failure?.code === 'ERR_RDMC_MESH_TIMEOUT';
}
