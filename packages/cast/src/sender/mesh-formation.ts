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
import { describeOwn, groupFacts, membersOf, ownAddress, refuseDuplicates } from './membership.js';
import { ReceiverLink } from './receiver-link.js';

/** The sender and the receivers that have joined. */
export interface FormedMesh {
  readonly links: readonly ReceiverLink[];
  readonly node: RdmcNode;
  /** Block size of every group of the cast. */
  readonly blockBytes: number;
  /** Address and port at which the receivers reach the sender. */
  readonly address: string;
  readonly checksum: Checksum;
}

/** Connects to receivers and joins the mesh with those that answer. */
export class MeshFormation {
  readonly #invitation: Omit<Invitation, 'castId'>;
  readonly #checksum: Checksum;

  constructor(
    private readonly options: CheckedCastOptions,
    private readonly survey: FileSurvey,
    private readonly messageBytes: number,
    private readonly signal: AbortSignal,
    /** Called with new links before they are connected. */
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

  /**
   * Starts again without receivers that are lost meanwhile. Undefined where none is left.
   * @throws CastError, MeshError
   */
  async run(targets: readonly Target[]): Promise<FormedMesh | undefined> {
    let wanted = targets;
    while (wanted.length > 0) {
      const links = await this.#connect(wanted);
      if (links.length === 0) return undefined;
      try {
        return await this.#join(links);
      } catch (error) {
        if (this.signal.aborted) throw error;
        failMissing(links, error);
      }
      const left = links.filter((link) => link.alive || (othersFailed(links) && hasTimedOut(link)));
      const again = new CastError(
        'ERR_RDMC_ABORTED',
        'the sender starts again without a receiver that was lost',
      );
      await Promise.all(left.map((link) => link.close(again)));
      wanted = left.map(({ target }) => target);
    }
    return undefined;
  }

  /** Returns the links of receivers that are ready. */
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
    refuseDuplicates(links);
    return links.filter(({ alive }) => alive);
  }

  async #join(links: readonly ReceiverLink[]): Promise<FormedMesh> {
    const { key, device, transport, connectTimeoutMs, logger, advertise, meshPorts } = this.options;
    const own = ownAddress(links, advertise);
    const server = await listenWithin(own.localHost, meshPorts);
    const port = portOf(server);
    const members = membersOf(own, port, links);
    const blockBytes = this.#blockSize(own.localHost, links);
    const group = groupFacts(FIRST_GROUP_ID, links, { ...this.options, blockBytes });
    for (const link of links) link.send({ type: 'members', id: link.id, members, group });
    // Without this, the mesh would wait for a lost receiver until the time-out.
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

  /** Blocks within one host use shared memory unless the transport is 'tcp'. */
  #blockSize(localHost: string, links: readonly ReceiverLink[]): number {
    const { blockBytes, transport } = this.options;
    if (blockBytes !== 'auto') return blockBytes;
    const inside = links.every(({ channel }) => channel.remoteHost === localHost);
    const transports = [inside && transport !== 'tcp' ? 'shm' : 'tcp'];
    return streamBlockSize(this.survey.contentBytes, this.messageBytes, links.length + 1, transports);
  }
}

/**
 * Fails the links that the mesh reports as missing.
 * @throws `error` where none is missing and every connection is open
 */
function failMissing(links: readonly ReceiverLink[], error: unknown): void {
  const ids = (error as { missing?: readonly { id: number }[] }).missing?.map(({ id }) => id) ?? [];
  const missing = links.filter(({ id }) => ids.includes(id));
  if (missing.length === 0 && links.every(({ alive }) => alive)) throw error;
  for (const link of missing) {
    const message = `${link.name} did not join in time: ${messageOf(error)}`;
    // It may have reported its own time-out first: it waits for other members as long as the sender does.
    if (hasTimedOut(link)) link.failure = undefined;
    link.fail(new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }));
  }
}

function othersFailed(links: readonly ReceiverLink[]): boolean {
  return links.some((link) => !link.alive && !hasTimedOut(link));
}

/** Whether a receiver gave up waiting for other members. It waits as long as the sender, so it is not the cause. */
function hasTimedOut({ failure }: ReceiverLink): boolean {
  return failure?.code === 'ERR_RDMC_MESH_TIMEOUT';
}
