import { randomUUID } from 'node:crypto';
import { Deadline, Deferred, Lifetime, type SingleConsumer, type Subscription } from '@rdmc/common';
import type { MeshFailure } from '@rdmc/mesh';
import type { Participant } from '@rdmc/node';
import type { MemoryRegion } from '@rdmc/verbs';
import { CloseBarrier } from './close-barrier.js';
import { COUNTS_TIMEOUT_MS, DEVICE_EVENT_DELAY_MS } from './constants.js';
import { DeliveryCounts } from './delivery-counts.js';
import type { GroupEnvironment, GroupSlot } from './environment.js';
import { GroupError, messageOf } from './errors.js';
import { FailureInquiry } from './failure-inquiry.js';
import { Formation } from './formation.js';
import { GroupMessenger } from './group-messenger.js';
import type { CheckedGroupOptions, RegionRange } from './group-options.js';
import { type Neighbourhood, neighbourhoodOf } from './neighbourhood.js';
import { type GroupProgress, progressOf } from './progress.js';
import type { ReceivedMessage } from './received-message.js';
import { Reception } from './reception.js';
import { DEVICE_REMOVED, type Trouble } from './records.js';
import { type BytesSent, RootSender } from './root-sender.js';
import { errorOfVerdict } from './verdict-error.js';
import type { MemberMessage, Verdict, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

const PORT_ADVICE = 'check that the port of its RDMA device is active';

/** A group at this member, from its creation to its end. Connects worker, mesh and application. */
export class GroupSession implements Participant<WireMessage>, WorkerEvents {
  readonly nonce = randomUUID();
  readonly isRoot: boolean;
  counters: Float64Array;
  readonly #sender: RootSender;
  readonly #reception: Reception;
  readonly #barrier: CloseBarrier;
  readonly #counts: DeliveryCounts;
  readonly #inquiry: FailureInquiry;
  readonly #formation: Formation;
  readonly #neighbourhood: Neighbourhood;
  readonly lifetime = new Lifetime();
  readonly #end = new Deferred<void>();
  readonly #subscriptions: Subscription[] = [];
  /** Events of the worker during the creation: blocks may arrive before this thread knows that all are connected. */
  readonly #early: (() => void)[] = [];
  #messenger: GroupMessenger;
  #memory: MemoryRegion | undefined;
  #state: 'forming' | 'open' | 'ending' | 'ended' = 'forming';
  #closing = false;

  constructor(
    private readonly environment: GroupEnvironment,
    readonly options: CheckedGroupOptions,
    private readonly slot: GroupSlot,
  ) {
    const { memberId, mesh, link } = environment;
    const { members, id } = options;
    this.counters = slot.counters;
    this.isRoot = members[0] === memberId;
    this.#neighbourhood = neighbourhoodOf(options, memberId);
    this.#barrier = new CloseBarrier(members, memberId);
    this.#counts = new DeliveryCounts(members.slice(1), memberId);
    this.#inquiry = new FailureInquiry(mesh, id);
    this.#formation = new Formation(environment, options, this.nonce, slot, this.#neighbourhood);
    const allocate = (byteLength: number): Promise<MemoryRegion> => environment.allocate(byteLength);
    const ports = { allocate, link, slot: slot.number };
    this.#sender = new RootSender(options, environment.device, () => this.transports, ports);
    this.#messenger = this.#messengerTo(new Map());
    this.#reception = new Reception(environment, options, slot.number, {
      failed: (reason, error) => this.#failedHere('ERR_RDMC_INCOMING_FAILED', reason, error),
      violated: (reason) => this.#violated(reason),
      arrived: () => this.#checkStored(),
    });
  }

  /** Messages that wait for the application. Messages that were delivered before the end stay readable. */
  get inbox(): SingleConsumer<ReceivedMessage> {
    return this.#reception.inbox;
  }

  get memberId(): number {
    return this.environment.memberId;
  }

  /** The transports of the group's blocks. */
  get transports(): readonly string[] {
    return this.#formation.transports;
  }

  /** The progress at this member, over both paths. */
  progress(): GroupProgress {
    return progressOf(this.counters, this.#reception.small);
  }

  /** Creates the group together with the other members. @throws GroupError; everything is freed then */
  async form(): Promise<void> {
    const { mesh } = this.environment;
    const { directory, verdicts } = this.environment;
    this.#register();
    verdicts.add(this);
    this.#subscriptions.push(
      mesh.onFailure((failure) => this.#memberFailed(failure)),
      mesh.onLeave((member) => this.memberLost(member, 'it closed its node')),
    );
    for (const [from, create] of directory.takeWaiting(this.options.id)) this.take(from, create);
    try {
      this.#memory = await this.#formation.run(this, this.#reception);
    } catch (error) {
      this.#state = 'ended';
      this.#reception.dispose(error);
      this.#release();
      throw error;
    }
    this.#messenger = this.#messengerTo(this.#formation.nonces);
    this.#useRing();
    this.#state = 'open';
    for (const tell of this.#early.splice(0)) tell();
    for (const [from, message] of this.#formation.early) this.#takeMember(from, message);
  }

  /** Queues a message at the root. */
  async send(given: MemoryRegion | RegionRange, signal: AbortSignal | undefined): Promise<void> {
    this.assertRoot();
    if (this.#state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#sender.send(given, signal);
  }

  /**
   * Queues a message at the root that consists of these parts, one after the other: copies it once there is memory.
   * Resolves when the message has its place in the order of messages.
   */
  async queueBytes(parts: readonly Uint8Array[], signal?: AbortSignal): Promise<BytesSent> {
    this.assertRoot();
    if (this.#state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#sender.sendBytes(parts, signal);
  }

  /** Sends a small message at once; false: `queueBytes` sends it, or says why it cannot. */
  trySmall(bytes: Uint8Array): boolean {
    return this.#state === 'open' && !this.#closing && this.#sender.trySmall(bytes);
  }

  /** Queues messages at the root, small ones together. */
  async sendMany(messages: readonly Uint8Array[]): Promise<void> {
    this.assertRoot();
    if (this.#state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#sender.sendMany(messages);
  }

  /** @throws GroupError ERR_RDMC_NOT_ROOT */
  assertRoot(): void {
    if (this.isRoot) return;
    const { id, members } = this.options;
    throw new GroupError(
      'ERR_RDMC_NOT_ROOT',
      `Only the root of group ${id}, member ${members[0]}, sends; for another sender create another group`,
      { memberId: members[0]! },
    );
  }

  /** @throws GroupError ERR_RDMC_ROOT_RECEIVES_NOTHING */
  assertReceiver(): void {
    if (!this.isRoot) return;
    throw new GroupError(
      'ERR_RDMC_ROOT_RECEIVES_NOTHING',
      `This node is the root of group ${this.options.id}, and does not receive; iterate at the other members. ` +
        'In a pipeline of the root use group.writable()',
    );
  }

  /**
   * A stream of this member was destroyed. Without effect once this member closes the group, or its part of the messages is
   * done: then nothing is missing.
   */
  abandon(reason: string, cause: unknown): void {
    if (this.#closing || this.#barrier.ownPartDone) return;
    this.#failedHere('ERR_RDMC_STREAM_DESTROYED', reason, cause);
  }

  /** Waits until all members have closed, or the group has failed. */
  close(signal: AbortSignal | undefined, timeoutMs: number | undefined): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#reception.liftLimits();
      this.#reception.drain();
      if (this.isRoot && this.#state === 'open') this.#sender.queue.whenIdle(() => this.#announceTotal());
    }
    if (this.#state === 'ended') return this.#end.promise;
    const deadline = new Deadline({ timeoutMs, signal }, () => {
      this.#giveUp(signal?.aborted ? 'the signal was aborted' : `it took more than ${timeoutMs} ms`);
    });
    return this.#end.promise.finally(() => deadline.clear());
  }

  /** The node closes while the group is open. */
  async leave(): Promise<void> {
    if (this.#state === 'forming') {
      this.#formation.fail(new GroupError('ERR_RDMC_NODE_CLOSED', 'The node was closed'));
      return;
    }
    if (this.#closing && this.#barrier.ownPartDone) this.#giveUp('the node was closed');
    else this.#failedHere('ERR_RDMC_NODE_CLOSED', 'it closed its node');
    await this.#end.promise.catch(() => {});
  }

  /** The worker died, and with it the queue pairs. */
  workerDied(error: unknown): void {
    if (this.#state === 'forming') {
      const message = `The data plane died: ${messageOf(error)}`;
      this.#formation.fail(new GroupError('ERR_RDMC_DATAPLANE_DIED', message, { cause: error }));
    } else this.#failedHere('ERR_RDMC_DATAPLANE_DIED', `its data plane died: ${messageOf(error)}`, error);
  }

  take(from: number, message: WireMessage): boolean {
    if (this.#state === 'forming') return this.#formation.take(from, message);
    if (message.type === 'create') return false;
    if (!this.#messenger.knows(from, message.nonce)) return false;
    if (message.type === 'abandon') this.memberLost(from, message.reason);
    else if (message.to === this.nonce) this.#takeMember(from, message);
    return true;
  }

  verdictFor(asker: number): Promise<Verdict | null> {
    return this.#inquiry.answer(asker);
  }

  incoming(message: number, byteLength: number): void {
    if (this.#state === 'forming') this.#early.push(() => this.incoming(message, byteLength));
    else if (this.#state === 'open') this.#reception.begin(message, byteLength);
  }

  finished(message: number): void {
    if (this.#state !== 'open') return;
    if (this.isRoot) this.#sender.queue.finished();
    else {
      this.#reception.finished(message);
      this.#checkStored();
    }
  }

  stored(message: number, slot: number, byteLength: number): void {
    if (this.#state === 'forming') this.#early.push(() => this.stored(message, slot, byteLength));
    if (this.#state !== 'open') return;
    this.#reception.stored(message, slot, byteLength);
    this.#checkStored();
  }

  small(): void {
    if (this.#state !== 'open') return;
    if (this.isRoot) this.#sender.queue.roomMade();
    else this.#reception.look();
  }

  trouble(trouble: Trouble): void {
    if (this.#state === 'forming') this.#early.push(() => this.trouble(trouble));
    if (this.#state !== 'open' || this.#barrier.ownPartDone) return;
    const { pair, kind, code, reason } = trouble;
    if (kind === 'device') {
      this.#failedHere(code, reason);
      return;
    }
    if (kind === 'copy') {
      this.#failedHere(code, `incoming: the processor cannot write to the region: ${reason}`);
      return;
    }
    if (kind === 'own') {
      this.#failedHere(code, `${reason}; ${PORT_ADVICE}`);
      return;
    }
    if (pair === -1) {
      this.#failedHere('ERR_RDMC_POST_FAILED', `${reason}; keep regions open until their messages are sent`);
      return;
    }
    const member = this.#memberAt(pair);
    if (kind === 'protocol') this.#fail({ culprit: member, code, reason }, true);
    else void this.#investigate(member, code, reason, kind === 'flushed');
  }

  /** The member at the other end of a pair; behind all neighbours are the links for small messages. */
  #memberAt(pair: number): number {
    const { neighbours } = this.#neighbourhood;
    const { members } = this.options;
    if (pair < neighbours.length) return members[neighbours[pair]!]!;
    return this.isRoot ? members[1 + pair - neighbours.length]! : members[0]!;
  }

  #useRing(): void {
    const { small } = this.#formation;
    if (!small) return;
    if (this.isRoot) this.#sender.useRing(small);
    else this.#reception.useRing(small);
  }

  memberLost(member: number, reason: string): void {
    this.#counts.lost(member);
    if (this.#state === 'forming') this.#formation.memberLost(member, reason);
    else if (this.options.members.includes(member) && !this.#isHarmless(member)) {
      this.#fail({ culprit: member, code: 'ERR_RDMC_MEMBER_LOST', reason }, true);
    }
  }

  /** @throws GroupError ERR_RDMC_GROUP_CLOSED */
  #assertTakesMessages(): void {
    if (!this.#closing) return;
    throw new GroupError(
      'ERR_RDMC_GROUP_CLOSED',
      `Group ${this.options.id} is closing, and does not take further messages`,
    );
  }

  /** @throws GroupError ERR_RDMC_GROUP_EXISTS */
  #register(): void {
    const { id } = this.options;
    if (this.environment.directory.register(id, this)) return;
    this.slot.release();
    throw new GroupError(
      'ERR_RDMC_GROUP_EXISTS',
      `Group ${id} is open at this node; close it first, or take another id`,
    );
  }

  #memberFailed({ member, reason }: MeshFailure): void {
    this.memberLost(member, reason);
  }

  /** This member's part is done, and that member has all messages as well. */
  #isHarmless(member: number): boolean {
    return this.#barrier.ownPartDone && this.#barrier.hasStored(member);
  }

  /** The device of this member was removed: this member has failed, and no other one. */
  deviceRemoved(): void {
    const { code, reason } = DEVICE_REMOVED;
    if (this.#state === 'forming') this.#early.push(() => this.deviceRemoved());
    if (this.#state === 'open' && !this.#barrier.ownPartDone) this.#failedHere(code, reason);
  }

  async #investigate(suspect: number, code: string, reason: string, isFlushed: boolean): Promise<void> {
    // A removed device flushes its requests before its event arrives.
    const wait = isFlushed ? DEVICE_EVENT_DELAY_MS : 0;
    const verdict = await this.#inquiry.ask(suspect, this.#messenger.nonceOf(suspect), code, reason, wait);
    // Meanwhile another verdict may have arrived, or the group may have closed.
    if (this.#state !== 'open' || this.#barrier.ownPartDone) return;
    if (verdict.culprit === suspect && this.environment.portIsDown()) {
      this.#failedHere(code, `its port is down; ${PORT_ADVICE}`);
    } else this.#fail(verdict, true);
  }

  #takeMember(from: number, message: MemberMessage): void {
    if (message.type === 'failed') this.#failedElsewhere(from, message);
    else if (message.type === 'stopped') this.#counts.stopped(from, message.messages);
    else if (message.type === 'sent' && from === this.options.members[0]) {
      this.#barrier.sent(message.messages);
      this.#reception.drain();
      this.#checkStored();
    } else if (message.type === 'stored') {
      this.#barrier.stored(from);
      this.#checkComplete();
    }
  }

  /**
   * A member that has all messages and reports its own failure is treated as lost: the group continues where that is harmless,
   * and fails at all members where it is not. The verdict of a member that lacks messages counts everywhere: it will not confirm.
   */
  #failedElsewhere(from: number, { culprit, code, reason }: Verdict): void {
    if (!this.options.members.includes(culprit)) return;
    const hadAll = from === culprit && this.#barrier.hasStored(culprit);
    // Its number follows, unless it is lost before.
    if (from === culprit) this.#counts.speaks(culprit);
    if (!hadAll) this.#fail({ culprit, code, reason }, false);
    else if (!this.#isHarmless(culprit)) this.#fail({ culprit, code, reason }, true);
  }

  #announceTotal(): void {
    if (this.#state !== 'open' || this.#barrier.ownPartDone) return;
    const { count } = this.#sender.queue;
    this.#barrier.sent(count);
    this.#messenger.sent(count);
    this.#checkComplete();
  }

  #checkStored(): void {
    if (this.isRoot || this.#state !== 'open') return;
    const { complete, waiting } = this.#reception;
    if (this.#barrier.isBeyond(complete)) {
      this.#violated('it sent more messages than it said');
      return;
    }
    if (!this.#barrier.storesNow(complete)) return;
    if (waiting > 0) {
      this.#violated('it left out numbers of messages');
      return;
    }
    this.inbox.end();
    this.#messenger.stored();
    this.#checkComplete();
  }

  #checkComplete(): void {
    if (this.#state === 'open' && this.#barrier.complete) void this.#finish(async () => undefined);
  }

  #giveUp(why: string): void {
    if (this.#state !== 'open') return;
    const { pending } = this.#barrier;
    const error = new GroupError(
      'ERR_RDMC_CLOSE_UNKNOWN',
      `Closing group ${this.options.id}: ${why} before members ${pending.join(', ')} confirmed that they have all messages; ` +
        'ask them whether they have',
      { missing: pending },
    );
    const lacksSome = !this.#barrier.ownPartDone;
    if (lacksSome) {
      const { memberId: culprit } = this.environment;
      const reason = 'it stopped waiting for the group to close';
      this.#messenger.failed({ culprit, code: error.code, reason });
    }
    void this.#finish(async () => {
      if (lacksSome) this.#tellDelivered();
      return error;
    });
  }

  /** The root broke the protocol. */
  #violated(reason: string): void {
    this.#fail({ culprit: this.options.members[0]!, code: 'ERR_RDMC_PROTOCOL', reason }, true);
  }

  #failedHere(code: string, reason: string, cause?: unknown): void {
    this.#fail({ culprit: this.environment.memberId, code, reason }, true, cause);
  }

  /**
   * The verdict is sent before the queue pairs break, so that the others do not take this member for the failed one.
   */
  #fail(verdict: Verdict, relay: boolean, cause?: unknown): void {
    if (this.#state !== 'open') return;
    this.#inquiry.settle(verdict);
    this.environment.verdicts.remember(this.nonce, verdict);
    if (relay) this.#messenger.failed(verdict);
    for (const member of this.#barrier.holders) this.#counts.stopped(member, this.#barrier.total!);
    this.#counts.failed(verdict.culprit);
    const { memberId } = this.environment;
    void this.#finish(async () => {
      this.#tellDelivered();
      // Where this member has failed, and may close its node, the others are not waited for.
      const isOwn = verdict.culprit === memberId;
      const delivered = isOwn ? this.#counts.known : await this.#counts.collect(COUNTS_TIMEOUT_MS);
      return errorOfVerdict(this.options.id, memberId, verdict, { cause, delivered });
    });
  }

  /** Nothing is delivered here any more: the others learn what this member has. */
  #tellDelivered(): void {
    if (this.isRoot) return;
    const { delivered } = this.#reception;
    this.#messenger.stopped(delivered);
    this.#counts.stopped(this.environment.memberId, delivered);
  }

  /**
   * Stops the group, waits until no device uses its memory, and only then rejects or resolves.
   * @param reason called when nothing is delivered any more
   */
  async #finish(reason: () => Promise<GroupError | undefined>): Promise<void> {
    this.#state = 'ending';
    // The ring is freed before the messages that wait are rejected.
    this.#sender.queue.stop();
    let failure: unknown;
    try {
      await this.environment.link.abort(this.slot.number);
      await this.#reception.finish();
      await Promise.all([this.#memory?.close(), this.#formation.small?.close()]);
    } catch (cause) {
      failure = cause;
    }
    failure = (await reason().catch((cause: unknown) => cause)) ?? failure;
    this.#state = 'ended';
    this.#release();
    this.#reception.dispose(failure);
    const poolClosed = this.#sender.end(failure);
    this.inbox.end(failure);
    if (failure === undefined) this.#end.resolve();
    else this.#end.reject(failure);
    this.lifetime.end(
      failure ?? new GroupError('ERR_RDMC_GROUP_CLOSED', `Group ${this.options.id} is closed`),
    );
    await poolClosed;
    this.lifetime.free();
  }

  #release(): void {
    for (const each of this.#subscriptions) each.close();
    this.environment.directory.unregister(this.options.id, this);
    this.environment.verdicts.remove(this);
    // The next group uses the counters of the slot.
    this.counters = this.slot.counters.slice();
    this.slot.release();
  }

  #messengerTo(nonces: ReadonlyMap<number, string>): GroupMessenger {
    return new GroupMessenger(this.environment.directory, this.options.id, this.nonce, nonces);
  }
}
