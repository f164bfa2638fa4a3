import { Tracer } from '@rdmc/common';
import {
  type NodeContext,
  type NodeProtocol,
  nodeProtocol,
  type ProtocolOptions,
  TopicDirectory,
} from '@rdmc/node';
import type { MemoryRegion, Subscription } from '@rdmc/verbs';
import { BufferSlabs } from './buffer-slabs.js';
import { type CheckedGroupOptions, checkGroupOptions } from './checked-group-options.js';
import type { GroupEnvironment } from './environment.js';
import { AbortError, GroupError, throwIfAborted } from './errors.js';
import { Group } from './group.js';
import { type GroupDirectory, groupTopic } from './group-directory.js';
import type { GroupOptions } from './group-options.js';
import { GroupSession } from './group-session.js';
import { choiceOption, integerOption, onlyKnownOptions, signalOption } from './options.js';
import { PortState } from './port-state.js';
import { type GroupRecords, groupRecords, PROTOCOL_NAME } from './records.js';
import { createSlotTable, GroupSlots } from './slots.js';
import { Verdicts } from './verdicts.js';
import { groupWorker } from './worker/group-protocol.js';
import { WorkerLink } from './worker-link.js';

/** The version of the messages between members. */
const VERSION = 1;

interface CreateMessage {
  readonly group: number;
  readonly node: number;
  readonly members: readonly number[];
}

const createTrace = new Tracer<CreateMessage>('@rdmc/group:create');

/** The groups of one node. */
export class Groups {
  readonly #context: NodeContext<GroupRecords>;
  readonly #slots: GroupSlots;
  readonly #directory: GroupDirectory;
  readonly #verdicts: Verdicts;
  readonly #link: WorkerLink;
  readonly #slabs: BufferSlabs;
  readonly #sessions = new Set<GroupSession>();
  readonly #allocated = new WeakSet<MemoryRegion>();
  readonly #deviceEvents: Subscription;
  readonly #port: PortState;
  #isClosed = false;
  #death: Error | undefined;

  /** @internal `groups()` creates it for a node. */
  constructor(context: NodeContext<GroupRecords>) {
    this.#context = context;
    this.#slots = new GroupSlots(context.data as SharedArrayBuffer);
    this.#directory = new TopicDirectory(context.mesh, groupTopic);
    this.#verdicts = new Verdicts(context.mesh);
    this.#link = new WorkerLink(context, (error) => {
      this.#death = error;
      for (const session of this.#sessions) session.workerDied(error);
    });
    const { device, protectionDomain } = context.plane;
    this.#slabs = new BufferSlabs({
      allocate: (byteLength) => protectionDomain.allocate(byteLength),
      add: (slab) => this.#link.commands.addBuffers(slab),
      drop: (bufferBytes) => this.#link.dropBuffers(bufferBytes),
    });
    this.#port = new PortState(device.choice.port);
    this.#deviceEvents = device.onEvent((event) => {
      this.#port.take(event);
      if (event.type === 'deviceRemoved') for (const session of this.#sessions) session.deviceRemoved();
    });
  }

  /**
   * Allocates memory for messages: from the device's pool, faulted in, and usable by `send` and `incoming`.
   * `region.close()` and `message.release()` return it to the pool. A length of 0 gives a region of one byte.
   * @throws GroupError ERR_RDMC_INVALID_OPTION, ERR_RDMC_NODE_CLOSED; AbortError; VerbsError ERR_RDMC_OUT_OF_MEMORY
   */
  async allocate(byteLength: number, options: { readonly signal?: AbortSignal } = {}): Promise<MemoryRegion> {
    onlyKnownOptions('allocate', options, ['signal']);
    const signal = signalOption('allocate', options.signal);
    integerOption('allocate', 'byteLength', byteLength, 0, Number.MAX_SAFE_INTEGER);
    this.#assertOpen();
    return this.#allocate(byteLength, signal, true);
  }

  async #allocate(
    byteLength: number,
    signal: AbortSignal | undefined,
    populated: boolean,
  ): Promise<MemoryRegion> {
    throwIfAborted('The allocation', signal);
    const bytes = Math.max(1, byteLength);
    const region = await this.#context.plane.protectionDomain.allocate(bytes, { populated });
    if (signal?.aborted) {
      await region.close();
      throw new AbortError('The allocation', signal);
    }
    this.#allocated.add(region);
    return region;
  }

  /**
   * Creates a group, with all its members: each calls this with the same id and list. Resolves when every member
   * is connected to its neighbours.
   *
   * @throws GroupError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_ALGORITHM,
   *   ERR_RDMC_GROUP_TOO_SMALL, ERR_RDMC_DUPLICATE_MEMBER, ERR_RDMC_UNKNOWN_MEMBER, ERR_RDMC_NOT_A_MEMBER,
   *   ERR_RDMC_RELAY_UNSUPPORTED, ERR_RDMC_GROUP_EXISTS, ERR_RDMC_TOO_MANY_GROUPS, ERR_RDMC_NODE_CLOSED; ERR_RDMC_GROUP_MISMATCH with `field`,
   *   ERR_RDMC_GROUP_TIMEOUT with `missing`, ERR_RDMC_MEMBER_LOST with `memberId`; AbortError
   */
  async create(options: GroupOptions): Promise<Group> {
    this.#assertOpen();
    const { id: own, mesh, logger } = this.#context;
    const incarnationOf = (id: number) => (id === own ? mesh.incarnation : mesh.peers.get(id)?.incarnation);
    const checked = checkGroupOptions(options, own, incarnationOf);
    this.#checkRelay(checked);
    const session = new GroupSession(this.#environment(), checked, this.#slots.take());
    this.#sessions.add(session);
    session.lifetime.signal.addEventListener('abort', () => this.#sessions.delete(session), { once: true });
    try {
      await createTrace.promise(
        () => ({ group: checked.id, node: own, members: checked.members }),
        () => session.form(),
      );
    } catch (error) {
      this.#sessions.delete(session);
      throw error;
    }
    logger?.debug?.({ group: checked.id, members: checked.members }, 'group created');
    this.#warnOfWeight(session);
    return new Group(session);
  }

  /** The node calls this when it closes. Open groups fail, here and at the other members; so close them first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions].map((session) => session.leave()));
    this.#directory.close();
    this.#verdicts.close();
    this.#deviceEvents.close();
  }

  /** @throws GroupError ERR_RDMC_RELAY_UNSUPPORTED */
  #checkRelay({ relay }: CheckedGroupOptions): void {
    const { device } = this.#context.plane;
    if (relay === 'worker' || device.attributes.waitFor) return;
    throw new GroupError(
      'ERR_RDMC_RELAY_UNSUPPORTED',
      `createGroup: relay 'device' needs a device that executes requests that wait (waitFor), and ${device.name} does not; ` +
        'leave relay out, or take the soft device',
    );
  }

  /** A weight is accepted everywhere: programs do not depend on where they run. */
  #warnOfWeight({ options: { id, weight }, ownTransports }: GroupSession): void {
    const { plane, logger } = this.#context;
    if (weight === 1 || plane.device.attributes.networkWeights) return;
    const transports = [...new Set(ownTransports)].filter((transport) => transport !== 'shm').sort();
    if (transports.length === 0) return;
    const text = 'group: weight has no effect over these transports; give trafficClass or serviceLevel';
    logger?.warn?.({ group: id, weight, transports }, text);
  }

  #assertOpen(): void {
    if (this.#isClosed) {
      throw new GroupError('ERR_RDMC_NODE_CLOSED', `Node ${this.#context.id} is closed; join again`);
    }
    if (!this.#death) return;
    throw new GroupError(
      'ERR_RDMC_DATAPLANE_DIED',
      `The data plane of node ${this.#context.id} died: ${this.#death.message}; close the node and join again`,
      { cause: this.#death },
    );
  }

  #environment(): GroupEnvironment {
    return {
      memberId: this.#context.id,
      mesh: this.#context.mesh,
      directory: this.#directory,
      verdicts: this.#verdicts,
      link: this.#link,
      device: this.#context.plane.device,
      protectionDomain: this.#context.plane.protectionDomain,
      slabs: this.#slabs,
      portIsDown: () => this.#port.isDown,
      allocate: (byteLength, options) => this.allocate(byteLength, options),
      allocateUnpopulated: (byteLength, signal) => this.#allocate(byteLength, signal, false),
      allocated: (region) => this.#allocated.has(region),
    };
  }
}

/**
 * Groups, for `Node.join({ protocols: { groups: groups() } })`.
 * @param options `thread`: where its worker side runs. 'worker' (default): beside the node's other protocols.
 *   'application': in the thread that joins, with its own completion queue; the application's other work delays it.
 * @throws GroupError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION
 */
export function groups(options: ProtocolOptions = {}): NodeProtocol<Groups> {
  onlyKnownOptions('groups', options, ['thread']);
  const { thread = 'worker' } = options;
  choiceOption('groups', 'thread', thread, ['worker', 'application']);
  return nodeProtocol({
    name: PROTOCOL_NAME,
    version: VERSION,
    records: groupRecords,
    // Beside this file when built.
    worker: thread === 'worker' ? new URL('./worker.js', import.meta.url) : groupWorker,
    data: createSlotTable,
    application: (context) => new Groups(context),
  });
}
