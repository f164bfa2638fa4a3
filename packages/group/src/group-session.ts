import { performance } from 'node:perf_hooks';
import { codeOf, type SingleConsumer, subscription } from '@rdmc/common';
import type { Participant } from '@rdmc/node';
import type { MemoryRegion } from '@rdmc/verbs';
import type { CheckedGroupOptions } from './checked-group-options.js';
import type { GroupEnvironment, GroupSlot } from './environment.js';
import { GroupError, messageOf } from './errors.js';
import { GroupAgreement } from './group-agreement.js';
import { GroupClosing } from './group-closing.js';
import { GroupCore } from './group-core.js';
import { type EndLimits, GroupEnd } from './group-end.js';
import { GroupFailure } from './group-failure.js';
import type { RegionRange } from './group-options.js';
import { type GroupProgress, progressOf } from './progress.js';
import type { ReceivedMessage } from './received-message.js';
import { DEVICE_REMOVED, type Trouble } from './records.js';
import { manySendersError, notSenderError, rootReceivesNothingError } from './role-errors.js';
import type { BytesSent } from './root-sender.js';
import type { GroupSkew } from './skew/group-skew.js';
import type { MemberMessage, Suspicion, Verdict, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

/** A group at this member, from its creation to its end. Connects worker, mesh and application. */
export class GroupSession implements Participant<WireMessage>, WorkerEvents {
  readonly #core: GroupCore;
  readonly #end: GroupEnd;
  readonly #failure: GroupFailure;
  readonly #agreement: GroupAgreement;
  readonly #closing: GroupClosing;
  /** Events of the worker during the creation: blocks may arrive before this thread knows that all are connected. */
  readonly #early: (() => void)[] = [];

  constructor(environment: GroupEnvironment, options: CheckedGroupOptions, slot: GroupSlot) {
    this.#core = new GroupCore(environment, options, slot, {
      failed: (reason, error) => this.#noMemory(reason, error),
      violated: (sender, reason) => this.#failure.violated(sender, reason),
      arrived: () => this.#closing.checkStored(),
      complete: (message) => this.#core.reports?.arrived(message),
      ordered: (counts) => this.#agreement.received(counts),
      skip: (count) => this.#core.sender.queue.skip(count),
      numbered: () => this.#core.sender.queue.count,
    });
    this.#end = new GroupEnd(this.#core);
    this.#failure = new GroupFailure(this.#core, this.#end);
    this.#agreement = new GroupAgreement(this.#core, this.#end, {
      stopped: (verdict) => this.#failure.fail(verdict, false),
      violated: (member, reason) => this.#failure.violated(member, reason),
    });
    this.#failure.agreement = this.#agreement;
    this.#closing = new GroupClosing(this.#core, this.#end, this.#agreement, (sender, reason) =>
      this.#failure.violated(sender, reason),
    );
  }

  get nonce(): string {
    return this.#core.nonce;
  }

  get options(): CheckedGroupOptions {
    return this.#core.options;
  }

  get isRoot(): boolean {
    return this.#core.isRoot;
  }

  /** Ids of the members that send. */
  get senders(): readonly number[] {
    return this.#core.senders;
  }

  get lifetime(): GroupCore['lifetime'] {
    return this.#core.lifetime;
  }

  /** Messages that wait for the application. Messages that were delivered before the end stay readable. */
  get inbox(): SingleConsumer<ReceivedMessage> {
    return this.#core.reception.inbox;
  }

  get memberId(): number {
    return this.#core.memberId;
  }

  /** The transports of the group's blocks. */
  get transports(): readonly string[] {
    return this.#core.formation.transports;
  }

  /** The transports of this member's connections. */
  get ownTransports(): readonly string[] {
    return this.#core.formation.ownTransports;
  }

  /** The progress at this member, over both paths. */
  progress(): GroupProgress {
    return progressOf(this.#core.counters, this.#core.reception.small);
  }

  /** At a root with `arrivals`; undefined elsewhere, and before every receiver has reported a message. */
  get skew(): GroupSkew | undefined {
    return this.#core.arrivals?.skew;
  }

  /** Creates the group together with the other members. @throws GroupError; everything is freed then */
  async form(): Promise<void> {
    const core = this.#core;
    const { directory, verdicts, mesh } = core.environment;
    this.#register();
    verdicts.add(this);
    core.subscriptions.push(
      subscription(() => directory.unregister(core.options.id, this)),
      subscription(() => verdicts.remove(this)),
      mesh.onFailure(({ member, reason }) => this.memberLost(member, reason)),
      mesh.onLeave((member) => this.memberLost(member, 'it closed its node')),
    );
    for (const [from, create] of directory.takeWaiting(core.options.id)) this.take(from, create);
    try {
      await core.formation.run(this, core.reception);
      core.opened();
    } catch (error) {
      core.state = 'ended';
      core.reception.dispose(error);
      core.release();
      throw error;
    }
    this.#agreement.start();
    core.state = 'open';
    // Rows and entries may have arrived before the state was 'open'.
    this.#agreement.look();
    core.reception.look();
    for (const tell of this.#early.splice(0)) tell();
    for (const [from, message] of core.formation.early) this.#takeMember(from, message);
  }

  /** Queues a message at a sender. */
  async send(given: MemoryRegion | RegionRange, signal: AbortSignal | undefined): Promise<void> {
    this.assertSender();
    if (this.#core.state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#core.sender.send(given, signal);
  }

  /**
   * Queues a message at the root that consists of these parts, one after the other: copies it once there is memory.
   * Resolves when the message has its place in the order of messages.
   */
  async queueBytes(parts: readonly Uint8Array[], signal?: AbortSignal): Promise<BytesSent> {
    this.assertSender();
    if (this.#core.state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#core.sender.sendBytes(parts, signal);
  }

  /** Sends a small message at once; false: `queueBytes` sends it, or says why it cannot. */
  trySmall(bytes: Uint8Array): boolean {
    return this.#core.state === 'open' && !this.#closing.hasBegun && this.#core.sender.trySmall(bytes);
  }

  /** Queues messages at the root, small ones together. */
  async sendMany(messages: readonly Uint8Array[]): Promise<void> {
    this.assertSender();
    if (this.#core.state !== 'open') await this.#end.promise;
    this.#assertTakesMessages();
    return this.#core.sender.sendMany(messages);
  }

  /** @throws GroupError ERR_RDMC_NOT_ROOT; with many senders ERR_RDMC_NOT_SENDER */
  assertSender(): void {
    if (!this.#core.isSender) throw notSenderError(this.options, this.memberId);
  }

  /** Streams have the bytes of one sender. @throws GroupError ERR_RDMC_MANY_SENDERS */
  assertOneSender(): void {
    if (this.options.senders) throw manySendersError(this.options.id);
  }

  /** @throws GroupError ERR_RDMC_ROOT_RECEIVES_NOTHING */
  assertReceiver(): void {
    if (!this.#core.receives) throw rootReceivesNothingError(this.options.id);
  }

  /**
   * A stream of this member was destroyed. Without effect once this member closes the group, or its part of the messages is
   * done: then nothing is missing.
   */
  abandon(reason: string, cause: unknown): void {
    if (this.#closing.hasBegun || this.#core.barrier.ownPartDone) return;
    this.#failure.failedHere('ERR_RDMC_STREAM_DESTROYED', reason, cause);
  }

  /** Waits until all members have closed, or the group has failed. */
  close(limits: EndLimits): Promise<void> {
    this.#closing.begin();
    return this.#end.wait(limits, (why) => this.#failure.giveUp(why));
  }

  /** The node closes while the group is open. */
  async leave(): Promise<void> {
    if (this.#core.state === 'forming') {
      this.#core.formation.fail(new GroupError('ERR_RDMC_NODE_CLOSED', 'The node was closed'));
      return;
    }
    if (this.#closing.hasBegun && this.#core.barrier.ownPartDone) this.#failure.giveUp('the node was closed');
    else this.#failure.failedHere('ERR_RDMC_NODE_CLOSED', 'it closed its node');
    await this.#end.promise.catch(() => {});
  }

  /** The worker died, and with it the queue pairs. */
  workerDied(error: unknown): void {
    if (this.#core.state === 'forming') {
      const message = `The data plane died: ${messageOf(error)}`;
      this.#core.formation.fail(new GroupError('ERR_RDMC_DATAPLANE_DIED', message, { cause: error }));
    } else
      this.#failure.failedHere('ERR_RDMC_DATAPLANE_DIED', `its data plane died: ${messageOf(error)}`, error);
  }

  /** A removed device refuses memory before its event and its failed requests arrive here. */
  #noMemory(reason: string, error: unknown): void {
    // Memory ahead whose pages cannot be had: the group does not open. A removed device fails the formation itself.
    if (this.#isEarly(() => this.#noMemory(reason, error))) {
      this.#core.formation.fail(new GroupError('ERR_RDMC_INCOMING_FAILED', reason, { cause: error }));
      return;
    }
    if (codeOf(error) === DEVICE_REMOVED.code) this.deviceRemoved();
    else this.#failure.failedHere('ERR_RDMC_INCOMING_FAILED', reason, error);
  }

  /** The device of this member was removed: this member has failed, and no other one. */
  deviceRemoved(): void {
    const { code, reason } = DEVICE_REMOVED;
    if (this.#isEarly(() => this.deviceRemoved())) return;
    // Survivors that agree need this member's row.
    if (this.#core.barrier.ownPartDone && this.#core.state !== 'agreeing') return;
    this.#failure.failedHere(code, reason);
  }

  take(from: number, message: WireMessage): boolean {
    const { state, formation, messenger, nonce } = this.#core;
    if (state === 'forming') return formation.take(from, message);
    if (message.type === 'create') return false;
    if (!messenger.knows(from, message.nonce)) return false;
    if (message.type === 'abandon') this.memberLost(from, message.reason);
    else if (message.to === nonce) this.#takeMember(from, message);
    return true;
  }

  verdictFor(asker: number): Promise<Verdict | Suspicion | null> {
    return this.#failure.verdictFor(asker);
  }

  incoming(message: number, byteLength: number): void {
    if (this.#isEarly(() => this.incoming(message, byteLength))) return;
    if (this.#core.state === 'open') this.#core.reception.begin(message, byteLength);
  }

  finished(message: number): void {
    const { state, sender, reception } = this.#core;
    if (state !== 'open') return;
    if (this.isRoot) sender.queue.finished();
    else {
      reception.finished(message);
      this.#closing.checkStored();
    }
  }

  stored(message: number, slot: number, byteLength: number): void {
    if (this.#isEarly(() => this.stored(message, slot, byteLength)) || this.#core.state !== 'open') return;
    this.#core.reception.stored(message, slot, byteLength);
    this.#closing.checkStored();
  }

  small(): void {
    const { state, sender, reception } = this.#core;
    if (state !== 'open') return;
    // A ring that has room takes messages first, and then the numbers that this member skips.
    if (this.#core.isSender) sender.queue.roomMade();
    if (!this.#core.receives) return;
    reception.look();
    this.#closing.checkStored();
  }

  table(): void {
    this.#agreement.look();
  }

  trouble(trouble: Trouble): void {
    if (!this.#isEarly(() => this.trouble(trouble))) this.#failure.trouble(trouble);
  }

  memberLost(member: number, reason: string): void {
    const { state, formation } = this.#core;
    if (state === 'forming') formation.memberLost(member, reason);
    else this.#failure.memberLost(member, reason);
  }

  /** @throws GroupError ERR_RDMC_GROUP_CLOSED */
  #assertTakesMessages(): void {
    if (!this.#closing.hasBegun) return;
    throw new GroupError(
      'ERR_RDMC_GROUP_CLOSED',
      `Group ${this.options.id} is closing, and does not take further messages`,
    );
  }

  /** @throws GroupError ERR_RDMC_GROUP_EXISTS */
  #register(): void {
    const { id } = this.options;
    if (this.#core.environment.directory.register(id, this)) return;
    this.#core.slot.release();
    throw new GroupError(
      'ERR_RDMC_GROUP_EXISTS',
      `Group ${id} is open at this node; close it first, or take another id`,
    );
  }

  /** During the creation, keeps an event for later. */
  #isEarly(event: () => void): boolean {
    if (this.#core.state !== 'forming') return false;
    this.#early.push(event);
    return true;
  }

  #takeReport(from: number, { messages, ages }: Extract<MemberMessage, { type: 'arrived' }>): void {
    const { arrivals, sender } = this.#core;
    arrivals?.report(from, messages, ages, { sent: sender.queue.count, now: performance.now() });
  }

  #takeMember(from: number, message: MemberMessage): void {
    if (message.type === 'failed') this.#failure.failedElsewhere(from, message);
    else if (message.type === 'stopped') this.#failure.stopped(from, message.messages, message.from);
    else if (message.type === 'arrived') this.#takeReport(from, message);
    else if (message.type === 'enlarge') this.#core.growth?.asked(from, message.sender);
    else if (message.type === 'enlarged') this.#core.growth?.answered(from, message.sender, message.ring);
    else this.#closing.take(from, message);
  }
}
