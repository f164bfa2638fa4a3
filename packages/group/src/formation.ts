import { Deadline, Deferred } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { type Agreement, agreementOf, disagreement } from './agreement.js';
import { MOST_AUTO_BLOCK_BYTES } from './block-size.js';
import { bufferBytes } from './buffer-slabs.js';
import type { CheckedGroupOptions } from './checked-group-options.js';
import { AWAITED_INTERVAL_MS, AWAITED_MS_PER_MEMBER, DEFAULT_SEND_WINDOW } from './constants.js';
import type { GroupEnvironment, GroupSlot } from './environment.js';
import { type AbortError, type GroupError, messageOf } from './errors.js';
import {
  abandonedError,
  creationTimeoutError,
  lostHereError,
  memberLostError,
  unconnectedError,
} from './formation-errors.js';
import { GroupBuffer } from './group-buffer.js';
import { GroupLinks } from './group-links.js';
import { groupMemoryBytes } from './group-memory.js';
import type { Neighbourhood } from './neighbourhood.js';
import type { PairAddress, SlotSetup } from './records.js';
import { RollCall } from './roll-call.js';
import { automaticWindows, type WorkAhead } from './windows.js';
import type { CreateMessage, MemberMessage, Verdict, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

/** A receiver's memory ahead. */
interface MemoryAhead {
  /** Allocates it, if the group has some. */
  prepare(): Promise<SlotSetup | null>;
}

/**
 * The creation of a group. Every member sends its options and the addresses of its queue pairs to the other members, connects
 * to its neighbours, and then reports that. When all have reported, the group exists. In a large group the root gathers and
 * tells all of it (`RollCall`); a member that fails sends its options to all others nevertheless, so that they can compare.
 */
export class Formation {
  readonly #agreement: Agreement;
  readonly #others: readonly number[];
  readonly #failure = new Deferred<never>();
  readonly #created = new Deferred<void>();
  readonly #connectedAll = new Deferred<void>();
  readonly #creates = new Map<number, CreateMessage>();
  readonly #roll: RollCall;
  readonly #introduced = new Set<number>();
  /** The root of a large group has told the others who has created it. */
  #hasGathered = false;
  /** What the root last told the members that wait with it. */
  #lastAwaited = '';
  readonly #addresses = new Map<number, PairAddress>();
  readonly #connections = new Map<number, Promise<string | undefined>>();
  /** The queue pairs and the memory beside those for blocks. */
  readonly links: GroupLinks;
  /** This member's queue pairs exist. */
  #isOpen = false;
  readonly #transports = new Set<string>();
  #ownTransports: readonly string[] = [];
  /** Messages of members whose group already exists. */
  readonly early: [number, MemberMessage][] = [];
  #region: MemoryRegion | undefined;
  readonly #buffer: GroupBuffer;

  constructor(
    private readonly environment: GroupEnvironment,
    private readonly options: CheckedGroupOptions,
    private readonly nonce: string,
    private readonly slot: GroupSlot,
    private readonly neighbourhood: Neighbourhood,
  ) {
    this.#agreement = agreementOf(options);
    this.#others = options.members.filter((id) => id !== environment.memberId);
    this.links = new GroupLinks(environment, options, slot.number);
    this.#buffer = new GroupBuffer(environment.slabs);
    const neighbours = neighbourhood.neighbours.map((rank) => options.members[rank]!);
    const linked = [...neighbours, ...this.links.smallMembers];
    this.#roll = new RollCall(options, environment.memberId, linked);
  }

  /** The transports of this member's connections, once `run` has resolved; one may occur often. */
  get ownTransports(): readonly string[] {
    return this.#ownTransports;
  }

  /** The transports of the blocks in the whole group, once `run` has resolved. */
  get transports(): readonly string[] {
    return [...this.#transports].sort();
  }

  get maxBlockBytes(): number {
    const { blockBytes } = this.options;
    return blockBytes === 'auto' ? MOST_AUTO_BLOCK_BYTES : blockBytes;
  }

  /** The nonces of the other members, once `run` has resolved. */
  get nonces(): ReadonlyMap<number, string> {
    return this.#roll.nonces;
  }

  /**
   * Resolves when every member is connected.
   * @throws GroupError; then everything is freed, and the others have been told
   */
  async run(events: WorkerEvents, reception: MemoryAhead): Promise<void> {
    const { id, signal, timeoutMs } = this.options;
    const late = (): GroupError => {
      const { absent, unconnected } = this.#roll.awaited();
      return creationTimeoutError(id, timeoutMs, absent, unconnected);
    };
    const limits = { timeoutMs, late, signal, what: `Creating group ${id}` };
    const deadline = new Deadline(limits, (error) => this.fail(error as GroupError | AbortError));
    const telling = this.#tellAwaited();
    try {
      await this.#open(events, reception);
      this.#introduce();
      await this.#orFail(this.#created.promise);
      const transports = await this.#orFail(Promise.all(this.#connections.values()));
      this.#ownTransports = transports.filter((name) => name !== undefined);
      this.#addTransports(this.#ownTransports);
      for (const to of this.#roll.reportsTo) this.#sendConnected(to, this.#ownTransports);
      this.#checkConnected();
      await this.#orFail(this.#connectedAll.promise);
      if (this.#gathers) for (const to of this.#others) this.#sendConnected(to, this.transports);
      // Watches for failures up to the end, so that a loss during the start fails the creation.
      const bufferBytes = await this.#orFail(this.#joinBuffers());
      const { sendWindow, readyWindow } = this.#windows();
      const { commands } = this.environment.link;
      await this.#orFail(commands.start(this.slot.number, sendWindow, readyWindow, bufferBytes));
      // A group may be open for long, and does not need the messages of its creation again.
      for (const told of [this.#creates, this.#addresses, this.#connections]) told.clear();
    } catch (error) {
      await this.#undo(error);
      throw error;
    } finally {
      deadline.clear();
      clearInterval(telling);
    }
  }

  /** Frees the group's memory: the worker has closed its queue pairs. */
  async free(): Promise<void> {
    await Promise.all([this.#region?.close(), this.links.close(), this.#buffer.leave()]);
  }

  fail(error: GroupError | AbortError): void {
    this.#failure.reject(error);
  }

  memberLost(member: number, reason: string): void {
    if (this.#others.includes(member)) this.fail(memberLostError(this.options.id, member, reason));
  }

  /** False for a message about another use of the id. */
  take(from: number, message: WireMessage): boolean {
    if (!this.#others.includes(from)) return false;
    const nonce = this.#roll.nonces.get(from);
    if (message.type === 'create') {
      if (this.#creates.has(from) || (nonce !== undefined && nonce !== message.nonce)) return false;
      this.#takeCreate(from, message);
    } else if (message.type === 'abandon') {
      // It concerns this creation if one of the two members knows the other's.
      if (nonce !== message.nonce && message.to !== this.nonce) return false;
      this.fail(abandonedError(this.options.id, from, message));
    } else if (nonce === message.nonce && message.to === this.nonce) {
      this.#takeMember(from, message);
    }
    return true;
  }

  #takeCreate(from: number, message: CreateMessage): void {
    this.#creates.set(from, message);
    this.#roll.created(from, message.nonce);
    const error = disagreement(
      this.options.id,
      this.#agreement,
      this.environment.memberId,
      message.agreement,
      from,
    );
    if (error) {
      this.fail(error);
      return;
    }
    this.#connect(from);
    this.#checkCreated();
  }

  #takeMember(from: number, message: MemberMessage): void {
    if (message.type === 'connected') {
      this.#roll.connected(from);
      this.#addTransports(message.transports);
      this.#checkConnected();
    } else if (message.type === 'gathered') {
      this.#roll.gathered(this.options.members, message.nonces, from);
      this.#checkCreated();
    } else if (message.type === 'awaiting') {
      this.#roll.awaiting(from, message);
    } else if (message.type === 'failed') {
      this.#failedElsewhere(message);
    } else {
      this.early.push([from, message]);
    }
  }

  /** A failure at members that were ready before this one. The lost member may be this one. */
  #failedElsewhere(verdict: Verdict): void {
    const { culprit, reason } = verdict;
    if (culprit !== this.environment.memberId) this.memberLost(culprit, reason);
    else this.fail(lostHereError(this.options.id, verdict));
  }

  async #open(events: WorkerEvents, reception: MemoryAhead): Promise<void> {
    const { environment, options, slot } = this;
    const { algorithm, members, racks, receiveWindow, retryTimeoutMs } = options;
    const { sendWindow = this.#sendsAhead } = options;
    const { weight, trafficClass, serviceLevel } = options;
    const { rank, neighbours, firstPair } = this.neighbourhood;
    const { maxBlockBytes } = this;
    const relaysAhead = options.relay === 'device' ? receiveWindow : 0;
    const windows = { receiveWindow, sendWindow, relaysAhead, maxBlockBytes };
    this.#region = await environment.allocate(groupMemoryBytes(windows));
    const slots = this.#receivesBlocks ? await reception.prepare() : null;
    const links = await this.links.allocate();
    const setup = {
      group: slot.number,
      id: options.id,
      members,
      algorithm,
      nodes: members.length,
      rank,
      racks,
      neighbours,
      firstPair,
      slots,
      ...links,
    };
    const queues = { ...windows, retryTimeoutMs, region: this.#region.handle };
    const priority = { weight, trafficClass, serviceLevel };
    // The worker takes commands in order. Nothing waits between these, so that it wakes up once for all of them.
    await Promise.all([
      environment.link.open({ ...setup, ...queues, ...priority }, events),
      ...neighbours.map((neighbour, pair) => this.#createPair(members[neighbour]!, pair)),
      this.links.open(),
    ]);
    this.#isOpen = true;
  }

  async #createPair(member: number, pair: number): Promise<void> {
    const { link } = this.environment;
    this.#addresses.set(member, await link.commands.createPair({ group: this.slot.number, pair }));
  }

  /**
   * Sends `create` also if the creation has failed: the others compare their options, and find a difference themselves.
   */
  #introduce(): void {
    for (const to of this.#roll.direct) this.#introduceTo(to);
    for (const from of this.#creates.keys()) this.#connect(from);
    this.#checkCreated();
  }

  #introduceTo(to: number): void {
    const { id: group } = this.options;
    const introduction = { type: 'create', group, nonce: this.nonce, agreement: this.#agreement } as const;
    const address = this.#addresses.get(to) ?? null;
    this.#introduced.add(to);
    this.environment.directory.send(to, { ...introduction, address, ...this.links.addressesFor(to) });
  }

  /** Connects once, when both sides' addresses are known. */
  #connect(member: number): void {
    const create = this.#creates.get(member);
    if (!create || !this.#isOpen || this.#connections.has(member)) return;
    const connection = Promise.all([
      this.#connectPair(member, create),
      this.links.connect(member, create),
    ]).then(([blocks, rings]) => blocks ?? rings);
    const explained = connection.catch((cause: unknown) => {
      throw unconnectedError(this.options.id, member, messageOf(cause), cause);
    });
    explained.catch(() => {});
    this.#connections.set(member, explained);
  }

  /** Connects the queue pairs for blocks, with a neighbour. Resolves with their transport. */
  async #connectPair(member: number, { address }: CreateMessage): Promise<string | undefined> {
    const pair = this.neighbourhood.neighbours.indexOf(this.options.members.indexOf(member));
    if (pair === -1) return undefined;
    if (!address) throw new Error('it did not send an address');
    return this.environment.link.commands.connect({ group: this.slot.number, pair, address });
  }

  /** This member tells the others what it has gathered from all. */
  get #gathers(): boolean {
    return this.#roll.isGathered && this.#roll.isRoot;
  }

  #checkCreated(): void {
    const { direct, allCreated } = this.#roll;
    if (!this.#isOpen || !allCreated || !direct.every((member) => this.#creates.has(member))) return;
    if (this.#gathers && !this.#hasGathered) this.#tellGathered();
    this.#created.resolve();
  }

  #tellGathered(): void {
    this.#hasGathered = true;
    const nonces = this.options.members.map((id) => this.#roll.nonces.get(id) ?? this.nonce);
    for (const to of this.#others) {
      this.environment.directory.send(to, { type: 'gathered', ...this.#addressed(to), nonces });
    }
  }

  /** From time to time the root of a large group tells the members that wait with it which ones are missing. */
  #tellAwaited(): NodeJS.Timeout | undefined {
    if (!this.#gathers) return undefined;
    const intervalMs = Math.max(AWAITED_INTERVAL_MS, AWAITED_MS_PER_MEMBER * this.options.members.length);
    return setInterval(() => {
      const awaited = this.#roll.awaited();
      const text = JSON.stringify(awaited);
      if (text === this.#lastAwaited) return;
      this.#lastAwaited = text;
      const lists = { absent: [...awaited.absent], unconnected: [...awaited.unconnected] };
      for (const to of this.#roll.nonces.keys()) {
        this.environment.directory.send(to, { type: 'awaiting', ...this.#addressed(to), ...lists });
      }
    }, intervalMs);
  }

  #sendConnected(to: number, transports: readonly string[]): void {
    const message = {
      type: 'connected',
      ...this.#addressed(to),
      transports: [...new Set(transports)],
    } as const;
    this.environment.directory.send(to, message);
  }

  #addressed(to: number): { readonly group: number; readonly nonce: string; readonly to: string } {
    return { group: this.options.id, nonce: this.nonce, to: this.#roll.nonces.get(to)! };
  }

  /** Where the device relays, blocks that have come do not keep relays of further ones waiting. */
  get #sendsAhead(): number {
    const { relay, receiveWindow } = this.options;
    return relay === 'device' && this.neighbourhood.rank !== 0 ? receiveWindow : DEFAULT_SEND_WINDOW;
  }

  /** Those of the options, and the automatic ones where an option is not given. */
  #windows(): WorkAhead {
    const { algorithm, members, sendWindow, readyWindow } = this.options;
    const automatic = automaticWindows(algorithm, members.length, this.transports);
    return {
      sendWindow: sendWindow ?? (automatic.sendWindow > 1 ? this.#sendsAhead : 1),
      readyWindow: readyWindow ?? automatic.readyWindow,
    };
  }

  #addTransports(transports: readonly string[]): void {
    for (const transport of transports) this.#transports.add(transport);
  }

  #checkConnected(): void {
    if (this.#roll.allConnected) this.#connectedAll.resolve();
  }

  #orFail<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([this.#failure.promise, promise]);
  }

  async #undo(error: unknown): Promise<void> {
    const { directory, link } = this.environment;
    const { code = 'ERR_RDMC_GROUP_TIMEOUT', missing } = error as Partial<GroupError>;
    const message = { type: 'abandon', group: this.options.id, nonce: this.nonce } as const;
    const reason = messageOf(error);
    for (const to of this.#others) {
      if (this.#introduced.size > 0 && !this.#introduced.has(to)) this.#introduceTo(to);
      const heard = this.#roll.nonces.get(to) ?? null;
      directory.send(to, { ...message, to: heard, code, reason, missing: missing ?? null });
    }
    await link.abort(this.slot.number);
    await this.free();
  }

  get #receivesBlocks(): boolean {
    return this.neighbourhood.rank !== 0 && !this.options.senders;
  }

  /** Resolves with the size of the first-block buffers, when this member has one, if it needs one. */
  async #joinBuffers(): Promise<number> {
    const bytes = bufferBytes(this.maxBlockBytes, this.transports);
    if (this.#receivesBlocks) await this.#buffer.join(bytes);
    return bytes;
  }
}
