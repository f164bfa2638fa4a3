import { anySignal, type Logger, onAbort } from '@rdmc/common';
import type { Group, RdmcNode, ReceivedMessage } from '@rdmc/group';
import type { Transport } from '@rdmc/verbs';
import { joinNode } from '../join-node.js';
import { meshTimeoutMs } from '../mesh-timeout.js';
import { listenWithin, type PortRange, portOf } from '../ports.js';
import { MessageBuffers } from '../receiver/message-buffers.js';
import { connectedTo } from './connected.js';
import type { ServerFrameOf } from './frames.js';
import type { PullWriterThread } from './pull-writer-thread.js';

/** What a fetcher shares with its runs. */
export interface FetchFacts {
  readonly castId: string;
  readonly serverName: string;
  readonly stallTimeoutMs: number;
}

/** What a fetcher got in a run. */
export interface ReceivedRun {
  readonly messages: number;
  /** Messages that were not those of the server. */
  readonly broken: readonly number[];
}

export interface ReceiverOptions {
  readonly meshPorts: PortRange | undefined;
  readonly device: string;
  readonly transport: Transport;
  readonly logger: Logger | undefined;
}

export interface ReceiverParts {
  readonly writer: PullWriterThread;
  readonly options: ReceiverOptions;
  readonly signal: AbortSignal;
  /** Called with every group as soon as it is formed. */
  readonly onGroup: (node: RdmcNode, group: Group) => void;
  /** Nothing more can be stored. */
  readonly onStoreError: (error: unknown) => void;
}

/** The fetcher's side of the mesh of its swarm: takes part in one group after the other. */
export class PieceReceiver {
  /** Complete messages of all runs. */
  messages = 0;
  /** Of the current group; 0 between groups. */
  members = 0;
  /** Whether a message was encrypted. */
  isEncrypted = false;
  readonly #buffers: MessageBuffers;
  #group: Group | undefined;
  #groupBytes = 0;

  private constructor(
    readonly node: RdmcNode,
    readonly mesh: ServerFrameOf<'mesh'>,
    private readonly facts: FetchFacts,
    private readonly parts: ReceiverParts,
  ) {
    this.#buffers = new MessageBuffers(node, mesh.messageBytes);
  }

  /** Joins the mesh. @param localHost address of this machine, as the server sees it */
  static async join(
    localHost: string,
    mesh: ServerFrameOf<'mesh'>,
    facts: FetchFacts,
    parts: ReceiverParts,
  ): Promise<PieceReceiver> {
    const { writer, options, signal } = parts;
    const { meshPorts, device, transport, logger } = options;
    const server = await listenWithin(localHost, meshPorts);
    const node = await joinNode(
      { device, transport, localHost, ports: meshPorts },
      {
        id: mesh.id,
        join: [mesh.contact],
        listen: { host: localHost, port: portOf(server) },
        ...{ server, signal },
        key: mesh.secret,
        timeoutMs: mesh.connectTimeoutMs,
        ...(logger && { logger }),
      },
    );
    const receiver = new PieceReceiver(node, mesh, facts, parts);
    try {
      await Promise.all([writer.attach(node.device.handle), receiver.#buffers.prepare()]);
      return receiver;
    } catch (error) {
      await node.close();
      throw error;
    }
  }

  /** Bytes of incomplete messages. */
  get partialBytes(): number {
    return Math.max(0, (this.#group?.progress().bytesReceived ?? 0) - this.#groupBytes);
  }

  /**
   * Takes part in a group until it ends, in whichever way; `part` ends it from this side. Resolves when everything that
   * arrived is stored.
   */
  async run(frame: ServerFrameOf<'run'>, part: AbortSignal): Promise<ReceivedRun> {
    const { run, secret } = frame;
    const { castId, serverName: sender } = this.facts;
    await this.parts.writer.enterRun(
      secret === undefined ? undefined : { castId, sender, run, secret: Buffer.from(secret, 'hex') },
    );
    this.isEncrypted ||= secret !== undefined;
    const stores: Promise<boolean>[] = [];
    // Altered messages of a fetcher that leads are not waited for: the server sends their pieces itself.
    const altered = new AbortController();
    const onBroken = (): void => {
      if (frame.led) altered.abort();
    };
    try {
      await this.#follow(frame, anySignal(part, altered.signal), stores, onBroken);
    } catch {
      // The server learns from the group itself that it has failed.
    }
    const stored = await Promise.all(stores);
    const broken = stored.flatMap((isWhole, message) => (isWhole ? [] : [message]));
    return { messages: stored.length, broken };
  }

  close(): Promise<void> {
    return this.node.close();
  }

  async #follow(
    frame: ServerFrameOf<'run'>,
    part: AbortSignal,
    stores: Promise<boolean>[],
    onBroken: () => void,
  ): Promise<void> {
    const group = await this.#form(frame, part);
    const forget = onAbort(part, () => void group.close({ signal: AbortSignal.abort() }).catch(() => {}));
    this.#group = group;
    this.parts.onGroup(this.node, group);
    this.members = frame.members.length;
    this.#groupBytes = 0;
    try {
      for await (const message of group) stores.push(this.#take(message, onBroken));
      await group.close();
    } finally {
      forget();
      this.#group = undefined;
      this.members = 0;
      this.#buffers.reclaim();
    }
  }

  async #form(
    { run: id, members, algorithm, blockBytes }: ServerFrameOf<'run'>,
    signal: AbortSignal,
  ): Promise<Group> {
    const timeoutMs = meshTimeoutMs(this.mesh.connectTimeoutMs, members.length);
    await connectedTo(this.node, members, { timeoutMs, signal });
    return this.node.createGroup({
      ...{ id, members, algorithm, blockBytes, signal, timeoutMs },
      incoming: this.#buffers.incoming,
      smallMessageBytes: 0,
      retryTimeoutMs: this.facts.stallTimeoutMs,
    });
  }

  async #take({ number, region, byteLength }: ReceivedMessage, onBroken: () => void): Promise<boolean> {
    this.#buffers.arrived(region);
    this.#groupBytes += byteLength;
    this.messages += 1;
    try {
      const isWhole = await this.parts.writer.store({ region: region.handle, byteLength, sequence: number });
      this.#buffers.give(region);
      if (!isWhole) onBroken();
      return isWhole;
    } catch (error) {
      this.parts.onStoreError(error);
      return false;
    }
  }
}
