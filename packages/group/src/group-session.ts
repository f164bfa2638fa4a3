import { randomUUID } from 'node:crypto';
import { Deadline, Deferred, Lifetime, SingleConsumer, type Subscription } from '@rdmc/common';
import type { MeshFailure } from '@rdmc/mesh';
import type { Participant } from '@rdmc/node';
import type { MemoryRegion } from '@rdmc/verbs';
import { Blame } from './blame.js';
import { CloseBarrier } from './close-barrier.js';
import { DEVICE_NEWS_MS } from './constants.js';
import type { GroupEnvironment, GroupSlot } from './environment.js';
import { GroupError, messageOf } from './errors.js';
import { Formation } from './formation.js';
import type { CheckedGroupOptions, RegionRange } from './group-options.js';
import { IncomingDesk } from './incoming-desk.js';
import { MemberVoice } from './member-voice.js';
import { type Neighbourhood, neighbourhoodOf } from './neighbourhood.js';
import type { ReceivedMessage } from './received-message.js';
import { DEVICE_REMOVED, type Trouble } from './records.js';
import { RootSender } from './root-sender.js';
import { errorOfVerdict } from './verdict-error.js';
import type { MemberMessage, Verdict, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

const SEE_PORT = 'see that the port of its RDMA device is active';

/** A group at this member, from its creation to its end: what joins worker, mesh and application. */
export class GroupSession implements Participant<WireMessage>, WorkerEvents {
  readonly nonce = randomUUID();
  readonly isRoot: boolean;
  /** Messages that wait for the application. What was delivered before an end stays readable. */
  readonly inbox: SingleConsumer<ReceivedMessage>;
  counters: Float64Array;
  readonly #sender: RootSender;
  readonly #desk: IncomingDesk;
  readonly #barrier: CloseBarrier;
  readonly #blame: Blame;
  readonly #formation: Formation;
  readonly #neighbourhood: Neighbourhood;
  readonly lifetime = new Lifetime();
  readonly #end = new Deferred<void>();
  readonly #subscriptions: Subscription[] = [];
  /** What the worker told while the group formed: blocks may be here before this thread hears that all are connected. */
  readonly #early: (() => void)[] = [];
  #voice: MemberVoice;
  #memory: MemoryRegion | undefined;
  #state: 'forming' | 'open' | 'ending' | 'ended' = 'forming';
  #closing = false;
  #finished = 0;

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
    this.#blame = new Blame(mesh, id);
    this.#formation = new Formation(environment, options, this.nonce, slot, this.#neighbourhood);
    this.#sender = new RootSender(options, environment.device, link, slot.number, () => this.transports);
    this.#voice = this.#voiceTo(new Map());
    this.#desk = new IncomingDesk(environment, options.incoming, {
      place: (message, address, lkey) => link.commands.place(slot.number, message, address, lkey),
      unread: () => this.inbox.unread,
      failed: (error) => this.#failedHere('ERR_RDMC_INCOMING_FAILED', `incoming: ${messageOf(error)}`, error),
    });
    this.inbox = new SingleConsumer({ taken, onTaken: () => this.#desk.admit() });
  }

  /** What the blocks of the group travel by. */
  get transports(): readonly string[] {
    return this.#formation.transports;
  }

  /** Creates the group together with the other members. @throws GroupError; nothing is left then */
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
      this.#memory = await this.#formation.run(this);
    } catch (error) {
      this.#state = 'ended';
      this.#letGo();
      throw error;
    }
    this.#voice = this.#voiceTo(this.#formation.nonces);
    this.#state = 'open';
    for (const tell of this.#early.splice(0)) tell();
    for (const [from, message] of this.#formation.early) this.#takeMember(from, message);
  }

  /** Queues a message at the root. */
  async send(given: MemoryRegion | RegionRange, signal: AbortSignal | undefined): Promise<void> {
    const { id, members } = this.options;
    if (!this.isRoot) {
      throw new GroupError(
        'ERR_RDMC_NOT_ROOT',
        `Only the root of group ${id}, member ${members[0]}, sends; for another sender make another group`,
        { memberId: members[0]! },
      );
    }
    if (this.#state !== 'open') await this.#end.promise;
    if (this.#closing) {
      throw new GroupError('ERR_RDMC_GROUP_CLOSED', `Group ${id} is closing; it takes no more messages`);
    }
    return this.#sender.send(given, signal);
  }

  /** Waits for the common end. */
  close(signal: AbortSignal | undefined, timeoutMs: number | undefined): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#desk.liftLimit();
      if (this.isRoot && this.#state === 'open') this.#sender.queue.whenIdle(() => this.#sayHowMany());
    }
    if (this.#state === 'ended') return this.#end.promise;
    const deadline = new Deadline({ timeoutMs, signal }, () => {
      this.#giveUp(signal?.aborted ? 'its signal ended the waiting' : `it took more than ${timeoutMs} ms`);
    });
    return this.#end.promise.finally(() => deadline.clear());
  }

  /** The node goes away under the group. */
  async leave(): Promise<void> {
    if (this.#state === 'forming') {
      this.#formation.fail(new GroupError('ERR_RDMC_NODE_CLOSED', 'The node was closed'));
      return;
    }
    if (this.#closing && this.#barrier.ownPartDone) this.#giveUp('the node was closed');
    else this.#failedHere('ERR_RDMC_NODE_CLOSED', 'it closed its node');
    await this.#end.promise.catch(() => {});
  }

  /** The worker is dead, and with it the queue pairs. */
  workerDied(error: unknown): void {
    if (this.#state === 'forming') {
      const message = `The data plane died: ${messageOf(error)}`;
      this.#formation.fail(new GroupError('ERR_RDMC_DATAPLANE_DIED', message, { cause: error }));
    } else this.#failedHere('ERR_RDMC_DATAPLANE_DIED', `its data plane died: ${messageOf(error)}`, error);
  }

  take(from: number, message: WireMessage): boolean {
    if (this.#state === 'forming') return this.#formation.take(from, message);
    if (message.type === 'create') return false;
    if (!this.#voice.knows(from, message.nonce)) return false;
    if (message.type === 'abandon') this.memberLost(from, message.reason);
    else if (message.to === this.nonce) this.#takeMember(from, message);
    return true;
  }

  verdictFor(asker: number): Promise<Verdict | null> {
    return this.#blame.answer(asker);
  }

  incoming(message: number, byteLength: number): void {
    if (this.#state === 'forming') this.#early.push(() => this.incoming(message, byteLength));
    else if (this.#state === 'open') this.#desk.begin(message, byteLength);
  }

  finished(message: number): void {
    if (this.#state !== 'open') return;
    this.#finished += 1;
    if (this.isRoot) {
      this.#sender.queue.finished();
      return;
    }
    this.inbox.push(this.#desk.collect(message));
    this.#checkStored();
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
      this.#failedHere(code, `incoming: the processor cannot write to its region: ${reason}`);
      return;
    }
    if (kind === 'own') {
      this.#failedHere(code, `${reason}; ${SEE_PORT}`);
      return;
    }
    if (pair === -1) {
      this.#failedHere(
        'ERR_RDMC_POST_FAILED',
        `${reason}; was a region closed before its message was through?`,
      );
      return;
    }
    const member = this.options.members[this.#neighbourhood.neighbours[pair]!]!;
    if (kind === 'protocol') this.#fail({ culprit: member, code, reason }, true);
    else void this.#investigate(member, code, reason, kind === 'flushed');
  }

  memberLost(member: number, reason: string): void {
    if (this.#state === 'forming') this.#formation.memberLost(member, reason);
    else if (this.options.members.includes(member) && !this.#isHarmless(member)) {
      this.#fail({ culprit: member, code: 'ERR_RDMC_MEMBER_LOST', reason }, true);
    }
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

  /** Everything is here and passed on, and that member has everything as well. */
  #isHarmless(member: number): boolean {
    return this.#barrier.ownPartDone && this.#barrier.hasStored(member);
  }

  /** The device of this member is gone: that is nobody else's doing. */
  deviceRemoved(): void {
    const { code, reason } = DEVICE_REMOVED;
    if (this.#state === 'forming') this.#early.push(() => this.deviceRemoved());
    if (this.#state === 'open' && !this.#barrier.ownPartDone) this.#failedHere(code, reason);
  }

  async #investigate(suspect: number, code: string, reason: string, isFlushed: boolean): Promise<void> {
    // A device that goes flushes before it says so.
    const wait = isFlushed ? DEVICE_NEWS_MS : 0;
    const verdict = await this.#blame.investigate(suspect, this.#voice.nonceOf(suspect), code, reason, wait);
    // Meanwhile the news may have come by itself, or the group have ended well.
    if (this.#state !== 'open' || this.#barrier.ownPartDone) return;
    if (verdict.culprit === suspect && this.environment.portIsDown()) {
      this.#failedHere(code, `its port is down; ${SEE_PORT}`);
    } else this.#fail(verdict, true);
  }

  #takeMember(from: number, message: MemberMessage): void {
    if (message.type === 'failed') {
      const { culprit, code, reason } = message;
      if (this.options.members.includes(culprit)) this.#fail({ culprit, code, reason }, false);
    } else if (message.type === 'sent' && from === this.options.members[0]) {
      this.#barrier.sent(message.messages);
      this.#checkStored();
    } else if (message.type === 'stored') {
      this.#barrier.stored(from);
      this.#checkComplete();
    }
  }

  #sayHowMany(): void {
    if (this.#state !== 'open' || this.#barrier.ownPartDone) return;
    this.#barrier.sent(this.#finished);
    this.#voice.sent(this.#finished);
    this.#checkComplete();
  }

  #checkStored(): void {
    if (this.isRoot || !this.#barrier.storesNow(this.#finished)) return;
    this.inbox.end();
    this.#voice.stored();
    this.#checkComplete();
  }

  #checkComplete(): void {
    if (this.#state === 'open' && this.#barrier.complete) void this.#finish(undefined);
  }

  #giveUp(why: string): void {
    if (this.#state !== 'open') return;
    const { pending } = this.#barrier;
    const error = new GroupError(
      'ERR_RDMC_CLOSE_UNKNOWN',
      `Closing group ${this.options.id}: ${why} before members ${pending.join(', ')} said that they have everything`,
      { missing: pending },
    );
    if (!this.#barrier.ownPartDone) {
      const { memberId: culprit } = this.environment;
      const reason = 'it gave up waiting for the group to close';
      this.#voice.failed({ culprit, code: error.code, reason });
    }
    void this.#finish(error);
  }

  #failedHere(code: string, reason: string, cause?: unknown): void {
    this.#fail({ culprit: this.environment.memberId, code, reason }, true, cause);
  }

  /** The news goes out before the queue pairs break, so that nobody blames this member for that. */
  #fail(verdict: Verdict, relay: boolean, cause?: unknown): void {
    if (this.#state !== 'open') return;
    this.#blame.settle(verdict);
    this.environment.verdicts.remember(this.nonce, verdict);
    if (relay) this.#voice.failed(verdict);
    void this.#finish(errorOfVerdict(this.options.id, this.environment.memberId, verdict, cause));
  }

  /** Stops everything, waits until no device touches its memory, and only then says so. */
  async #finish(error: GroupError | undefined): Promise<void> {
    this.#state = 'ending';
    let failure: unknown = error;
    try {
      await this.environment.link.abort(this.slot.number);
      await this.#memory?.close();
    } catch (cause) {
      failure ??= cause;
    }
    this.#state = 'ended';
    this.#letGo();
    this.#desk.dispose(failure);
    this.#sender.queue.fail(failure);
    this.inbox.end(failure);
    if (failure === undefined) this.#end.resolve();
    else this.#end.reject(failure);
    this.lifetime.end(
      failure ?? new GroupError('ERR_RDMC_GROUP_CLOSED', `Group ${this.options.id} is closed`),
    );
    this.lifetime.free();
  }

  #letGo(): void {
    for (const each of this.#subscriptions) each.close();
    this.environment.directory.unregister(this.options.id, this);
    this.environment.verdicts.remove(this);
    // The slot's counters are the next group's.
    this.counters = this.slot.counters.slice();
    this.slot.release();
  }

  #voiceTo(nonces: ReadonlyMap<number, string>): MemberVoice {
    return new MemberVoice(this.environment.directory, this.options.id, this.nonce, nonces);
  }
}

function taken(): GroupError {
  const message = 'The messages of a group have one consumer, and there is one; share what it receives';
  return new GroupError('ERR_RDMC_ITERATOR_TAKEN', message);
}
