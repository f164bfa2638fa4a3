import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { anySignal } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import { type Checksum, newChecksum } from '../checksum.js';
import { commonCodec } from '../compression/codec.js';
import { ASSUMED_INPUT_BYTES, CALL_AGE_MS, INPUT_MESSAGE_BYTES, SENDER_ID } from '../constants.js';
import type { Invitation } from '../control/frames.js';
import { CastError, messageOf } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { joinMesh } from '../join-mesh.js';
import { meshTimeoutMs } from '../mesh-timeout.js';
import { listenWithin, portOf } from '../ports.js';
import { chooseRelay, type GroupChoice } from '../relay-choice.js';
import type { SpareNode } from '../spare-node.js';
import { chooseTransfer, type TransferChoice } from '../transfer-choice.js';
import { Comparison } from './comparison.js';
import { resolveHosts } from './dial.js';
import { describeOwn, membersOf, ownAddress, refuseDuplicates } from './membership.js';
import type { Phase } from './phase.js';
import type { ReaderThread } from './reader-thread.js';
import { ReceiverLink } from './receiver-link.js';

/** The sender and the receivers that lack something and have joined. */
export interface FormedMesh {
  /** As in the invitations of its receivers. */
  readonly castId: string;
  readonly senderName: string;
  readonly links: readonly ReceiverLink[];
  readonly node: RdmcNode;
  /** Algorithm, messages, blocks and relays of every group of the cast. */
  readonly choice: GroupChoice;
  /** Address and port at which the receivers reach the sender. */
  readonly address: string;
}

/** The receivers that are ready, and what is sent to them. */
export interface Formation {
  /** Also those that lack nothing. */
  readonly links: readonly ReceiverLink[];
  readonly phases: readonly Phase[];
  readonly checksum: Checksum;
  /** Undefined where nothing is sent. */
  readonly mesh: FormedMesh | undefined;
}

/** Totals of an invitation where entries are compared: they are listed meanwhile, and `offered` has the totals. */
const NOT_LISTED = { files: 0, directories: 0, links: 0, bytes: 0, contentBytes: 0 };

/** The threads of a cast at its sender. */
export interface CastingThreads {
  readonly reader: ReaderThread;
  /** The worker of the node is taken when the sender joins. */
  readonly spare: SpareNode;
}

/** How far the reader is with the paths of the cast. */
export interface Surveying {
  /** Resolves when it has checked the paths, and listed them if they are not compared. Receivers are not invited before. */
  readonly begun: Promise<void>;
  /** Resolves when all entries are listed. */
  readonly surveyed: () => Promise<FileSurvey>;
}

/** Connects to receivers, asks them what they lack, and joins the mesh with those that lack something. */
export class MeshFormation {
  readonly #invitation: Omit<Invitation, 'castId' | keyof typeof NOT_LISTED>;
  private readonly reader: ReaderThread;
  private readonly spare: SpareNode;
  /** Of the latest round of connections. */
  #castId = '';
  readonly #checksum: Checksum;

  constructor(
    private readonly options: CheckedCastOptions,
    private readonly survey: Surveying,
    { reader, spare }: CastingThreads,
    private readonly signal: AbortSignal,
    /** Called with new links before they are connected. */
    private readonly onLinks: (links: readonly ReceiverLink[]) => void,
  ) {
    this.reader = reader;
    this.spare = spare;
    const { connectTimeoutMs, stallTimeoutMs, trafficClass, serviceLevel } = options;
    this.#checksum = newChecksum(options.checksum);
    this.#invitation = {
      type: 'invite',
      senderName: hostname(),
      ...{ connectTimeoutMs, stallTimeoutMs, trafficClass, serviceLevel },
      checksum: this.#checksum.kind,
      checksumKey: Buffer.from(this.#checksum.key).toString('hex'),
      encrypted: options.encrypt,
      ...(options.comparison && { comparison: options.comparison }),
      ...(options.input && { isStream: true }),
    };
  }

  /**
   * Starts again without receivers that are lost meanwhile. Undefined where none is left.
   * @throws CastError, MeshError
   */
  async run(targets: readonly Target[]): Promise<Formation | undefined> {
    let wanted = targets;
    while (wanted.length > 0) {
      const asked = this.#prepare();
      const links = await this.#connect(wanted, asked);
      const phases = await this.#phases(links, await asked);
      const living = links.filter(({ alive }) => alive);
      if (living.length === 0) return undefined;
      const formation = { links: living, phases, checksum: this.#checksum };
      if (phases.length === 0 || this.options.comparison?.dryRun) return { ...formation, mesh: undefined };
      const concerned = new Set(phases.flatMap((phase) => phase.links));
      try {
        const mesh = await this.#join(
          living.filter((link) => concerned.has(link)),
          phases,
        );
        return { ...formation, mesh };
      } catch (error) {
        if (this.signal.aborted) throw error;
        failMissing(links, error);
      }
      const left = links.filter((link) => link.alive || (othersFailed(links) && hasTimedOut(link)));
      await Promise.all(left.map((link) => link.closeRound()));
      wanted = left.map(({ target }) => target);
    }
    return undefined;
  }

  /** Begins to list and describe entries, where they are compared. */
  async #prepare(): Promise<Comparison | undefined> {
    const { comparison } = this.options;
    if (!comparison) return undefined;
    const ready = this.reader.compare(this.#checksum, comparison.by === 'content');
    ready.catch(() => {});
    await this.survey.begun;
    await ready;
    return new Comparison(this.reader);
  }

  /**
   * Returns the links of receivers that are ready.
   *
   * @param prepared settles when the reader has checked the paths; it has failed where nobody may be invited
   */
  async #connect(targets: readonly Target[], prepared: Promise<unknown>): Promise<ReceiverLink[]> {
    const links = targets.map((target) => new ReceiverLink(target));
    this.onLinks(links);
    // A path that is missing is reported at once, also where no receiver answers.
    await Promise.all([prepared, this.#call(links, prepared)]);
    this.signal.throwIfAborted();
    refuseDuplicates(links);
    if (this.options.compress) for (const link of links) refuseWithoutCodec(link);
    return links.filter(({ alive }) => alive);
  }

  /** Dials all receivers, and invites each that answers. */
  async #call(links: readonly ReceiverLink[], prepared: Promise<unknown>): Promise<void> {
    const { sockets, connectTimeoutMs: timeoutMs } = this.options;
    const targets = links.map(({ target }) => target);
    const [addresses, totals] = await Promise.all([resolveHosts(targets), this.#announced()]);
    this.#castId = randomUUID();
    const invitation: Invitation = { ...this.#invitation, ...totals, castId: this.#castId };
    const opened = links.map(async (link) => {
      const address = addresses.get(link.target.host)!;
      if (address instanceof CastError) {
        link.fail(address);
        return;
      }
      const dialling = { sockets, address, timeoutMs, signal: this.signal };
      // In front of the call: the receiver counts from the time on at which it accepted the connection.
      const calledAt = performance.now();
      await link.open(dialling);
      await prepared;
      if (performance.now() - calledAt > CALL_AGE_MS) await link.openAgain(dialling);
      await link.invite(invitation, dialling);
    });
    await Promise.all(opened);
  }

  async #announced(): Promise<typeof NOT_LISTED> {
    if (this.options.comparison) return NOT_LISTED;
    await this.survey.begun;
    const { files, directories, links, bytes, contentBytes } = await this.survey.surveyed();
    return { files, directories, links, bytes, contentBytes };
  }

  /** What is sent to which receivers. Receivers that fail meanwhile are left out. */
  async #phases(links: readonly ReceiverLink[], asked: Comparison | undefined): Promise<Phase[]> {
    if (!asked) {
      const { contentBytes } = await this.survey.surveyed();
      return [{ links, selection: undefined, sentBlocks: new Map(), contentBytes }];
    }
    if (links.length === 0) return [];
    await asked.run(links, this.survey.surveyed);
    this.signal.throwIfAborted();
    return await asked.plan(links);
  }

  async #join(links: readonly ReceiverLink[], phases: readonly Phase[]): Promise<FormedMesh> {
    const { key, device, transport, connectTimeoutMs, logger, trace, advertise, meshPorts } = this.options;
    const own = ownAddress(links, advertise);
    const server = await listenWithin(own.localHost, meshPorts);
    const port = portOf(server);
    const members = membersOf(own, port, links);
    const sharesMemory = this.#sharesMemory(own.localHost, links);
    const choice = this.#choose(sharesMemory, links, phases);
    const { messageBytes } = choice;
    for (const link of links) link.send({ type: 'members', id: link.id, members, messageBytes });
    // Without this, the mesh would wait for a lost receiver until the time-out.
    const lost = new AbortController();
    for (const link of links) void link.down.then(() => lost.abort());
    const node = await joinMesh({
      id: SENDER_ID,
      members,
      server,
      localHost: own.localHost,
      ports: meshPorts,
      ...{ key, device, transport, logger, trace },
      prepared: () => this.spare.take(),
      timeoutMs: meshTimeoutMs(connectTimeoutMs, members.length),
      signal: anySignal(this.signal, lost.signal),
    });
    const { senderName } = this.#invitation;
    trace?.nameMember(SENDER_ID, senderName);
    for (const { id, name } of links) trace?.nameMember(id, name);
    const executesWaits = node.device.attributes.waitFor;
    const facts = { members: members.length, executesWaits, sharesMemory };
    return {
      castId: this.#castId,
      senderName,
      links,
      node,
      choice: { ...choice, ...chooseRelay(facts, this.options.relay) },
      address: describeOwn(own, port),
    };
  }

  /** Blocks within one host use shared memory unless the transport is 'tcp'. */
  #sharesMemory(localHost: string, links: readonly ReceiverLink[]): boolean {
    const isInside = links.every(({ channel }) => channel.remoteHost === localHost);
    return isInside && this.options.transport !== 'tcp';
  }

  #choose(sharesMemory: boolean, links: readonly ReceiverLink[], phases: readonly Phase[]): TransferChoice {
    const { input, messageBytes, rack } = this.options;
    const racks = links.flatMap(({ target }) => target.rack ?? []);
    const facts = {
      contentBytes: input ? ASSUMED_INPUT_BYTES : Math.max(...phases.map((phase) => phase.contentBytes)),
      members: links.length + 1,
      racks: racks.length === links.length ? [rack, ...racks] : undefined,
      sharesMemory,
    };
    const most = input ? Math.min(messageBytes, INPUT_MESSAGE_BYTES) : messageBytes;
    return chooseTransfer(facts, { ...this.options, messageBytes: most });
  }
}

/** A receiver that cannot decompress is told so before anything is sent to it. */
function refuseWithoutCodec(link: ReceiverLink): void {
  if (!link.alive || commonCodec([link.codecs])) return;
  const message = `${link.name} cannot decompress what this sender compresses (it can undo: ${link.codecs.join(', ') || 'nothing'}); cast without compression, or install the same release at both ends`;
  link.fail(new CastError('ERR_RDMC_COMPRESSION_UNSUPPORTED', message, { receiver: link.name }));
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
