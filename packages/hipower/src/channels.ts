import { anySignal, Tracer } from '@rdmc/common';
import {
  type NodeContext,
  type NodeProtocol,
  nodeProtocol,
  type ProtocolOptions,
  TopicDirectory,
} from '@rdmc/node';
import type { Subscription } from '@rdmc/verbs';
import { channelTopic } from './channel-directory.js';
import {
  type ChannelOptions,
  type CheckedChannelOptions,
  checkChannelOptions,
  type NodeFacts,
} from './channel-options.js';
import { choiceOption, onlyKnownOptions } from './check-options.js';
import { HIPOWER_PROTOCOL_VERSION } from './constants.js';
import type { Environment } from './environment.js';
import { HiPowerError } from './errors.js';
import { type HiPowerRecords, hiPowerRecords, PROTOCOL_NAME } from './records.js';
import { Requester } from './requester.js';
import { Responder } from './responder.js';
import { hiPowerWorker } from './worker/hipower-protocol.js';
import { WorkerLink } from './worker-link.js';

interface CreateMessage {
  readonly role: 'requester' | 'responder';
  readonly channel: string;
  readonly node: number;
  readonly peers: readonly number[];
}

const createTrace = new Tracer<CreateMessage>('@rdmc/hipower:create');

/** The options of `createRequester`. */
export interface RequesterOptions extends ChannelOptions {
  /** The responder; or several, for a broadcast. */
  readonly to: number | readonly number[];
}

/** The options of `createResponder`. */
export interface ResponderOptions extends ChannelOptions {
  /** The requester; or several, to gather. */
  readonly from: number | readonly number[];
}

/** The channels of one node. */
export class Channels {
  readonly #context: NodeContext<HiPowerRecords>;
  readonly #environment: Environment;
  readonly #ends = new Set<Requester | Responder>();
  /** Pending creations. */
  readonly #opening = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  readonly #deviceEvents: Subscription;

  /** @internal `hipower()` creates it for a node. */
  constructor(context: NodeContext<HiPowerRecords>) {
    this.#context = context;
    const { mesh, plane } = context;
    const link = new WorkerLink(context);
    const { protectionDomain } = plane;
    this.#environment = { mesh, directory: new TopicDirectory(mesh, channelTopic), link, protectionDomain };
    this.#deviceEvents = plane.device.onEvent(({ type }) => {
      if (type === 'deviceRemoved') link.deviceRemoved();
    });
  }

  /**
   * Creates the sending end of a channel; each responder creates the other. Resolves when all are connected.
   * @throws HiPowerError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_MEMBER,
   *   ERR_RDMC_HIPOWER_CHANNEL_EXISTS, ERR_RDMC_HIPOWER_NODE_CLOSED; ERR_RDMC_HIPOWER_TIMEOUT with `missing`,
   *   ERR_RDMC_HIPOWER_MISMATCH with `field`, ERR_RDMC_HIPOWER_PEER_LOST with `memberId`; AbortError
   */
  requester(options: RequesterOptions): Promise<Requester> {
    return this.#create('requester', 'to', options, (checked) =>
      Requester.open(this.#environment, checked, this.#forget),
    );
  }

  /** Creates the receiving end of a channel; each requester creates the other. Resolves when all are connected. @throws as `requester` */
  responder(options: ResponderOptions): Promise<Responder> {
    return this.#create('responder', 'from', options, (checked) =>
      Responder.open(this.#environment, checked, this.#forget),
    );
  }

  /** Closes all channels. Channels that have not ended fail at their peers, so end them first. The node calls it when it closes. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#opening);
    await Promise.all([...this.#ends].map((end) => end.close()));
    this.#environment.directory.close();
    this.#deviceEvents.close();
  }

  /** Pending calls end when the node closes. */
  async #create<End extends Requester | Responder>(
    role: 'requester' | 'responder',
    peersName: 'to' | 'from',
    options: ChannelOptions,
    open: (checked: CheckedChannelOptions) => Promise<End>,
  ): Promise<End> {
    this.#assertOpen();
    const checked = checkChannelOptions(role, peersName, options, this.#facts());
    const { channel } = checked;
    const signal = checked.signal ? anySignal(checked.signal, this.#closed.signal) : this.#closed.signal;
    const opening = createTrace.promise(
      () => ({ role, channel, node: this.#context.id, peers: checked.peers }),
      () => open({ ...checked, signal }),
    );
    this.#opening.add(opening);
    try {
      const end = await opening;
      this.#ends.add(end);
      return end;
    } catch (error) {
      this.#assertOpen(error);
      throw error;
    } finally {
      this.#opening.delete(opening);
    }
  }

  readonly #forget = (end: Requester | Responder): void => void this.#ends.delete(end);

  #facts(): NodeFacts {
    const { id, mesh, plane } = this.#context;
    return {
      id,
      isMember: (member) => mesh.peers.has(member),
      maxReceiveDepth: plane.device.attributes.maxReceiveDepth,
      ordersWrites: plane.device.attributes.ordersWrites,
    };
  }

  #assertOpen(cause?: unknown): void {
    if (!this.#closed.signal.aborted) return;
    const { id } = this.#context;
    throw new HiPowerError('ERR_RDMC_HIPOWER_NODE_CLOSED', `Node ${id} is closed; join again`, {
      cause,
    });
  }
}

/**
 * Channels, for `Node.join({ protocols: { channels: hipower() } })`.
 * @param options `thread`: where its worker side runs. 'worker' (default): beside the node's other protocols. 'application': in the
 *   thread that joins, with a completion queue of its own; the application's work there delays it.
 * @throws HiPowerError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION
 */
export function hipower(options: ProtocolOptions = {}): NodeProtocol<Channels> {
  onlyKnownOptions('hipower', options, ['thread']);
  const { thread = 'worker' } = options;
  choiceOption('hipower', 'thread', thread, ['worker', 'application']);
  return nodeProtocol({
    name: PROTOCOL_NAME,
    version: HIPOWER_PROTOCOL_VERSION,
    records: hiPowerRecords,
    // Beside this file when built.
    worker: thread === 'worker' ? new URL('./worker.js', import.meta.url) : hiPowerWorker,
    application: (context) => new Channels(context),
  });
}
