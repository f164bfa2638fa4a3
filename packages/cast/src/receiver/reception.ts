import { SilenceTimer } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import { HEARTBEAT_MS } from '../constants.js';
import type { ControlChannel } from '../control/control-channel.js';
import type { DoneFrame, FinishFrame, Invitation, ReceiverFrame, SenderFrame } from '../control/frames.js';
import { CastError, protocolError } from '../errors.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import type { ReceiverEvent } from '../receiver-events.js';
import { routeOf } from '../route.js';
import type { SpareNode } from '../spare-node.js';
import { checkOneFile, runAfterCast } from './after-cast.js';
import { Answers } from './answers.js';
import { GroupMembership } from './group-membership.js';
import { openOrder } from './open-order.js';
import { receiveTrace } from './receive-trace.js';
import { asCastError, encryptionRequired, senderLost, senderSilent } from './reception-errors.js';
import type { RunningReception, WithoutOrigin } from './running-reception.js';
import { Takers } from './takers.js';
import type { WriterThread } from './writer-thread.js';

type Channel = ControlChannel<ReceiverFrame, SenderFrame>;

interface Totals {
  readonly files: number;
  readonly bytes: number;
}

/** The threads of a cast. */
export interface CastThreads {
  readonly writer: WriterThread;
  /** The worker of the node is taken when the cast joins. */
  readonly spare: SpareNode;
}

/** One cast at a receiver, from its invitation to its end. */
export class Reception implements RunningReception {
  readonly #over = new AbortController();
  readonly #began = performance.now();
  #silence: SilenceTimer | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #groups: GroupMembership;
  #takers: Takers | undefined;
  /** The function that the application runs after the cast. */
  #after: Promise<void> | undefined;
  readonly #answers: Answers;
  /** Of the cast, as announced. The message of the trace is this object, so that it gets them when they are known. */
  readonly #totals: Totals = { files: 0, bytes: 0 };
  private readonly writer: WriterThread;
  #announced = false;
  #isCalledAgain = false;
  #routed = false;
  #outcome: DoneFrame | undefined;
  #failure: CastError | undefined;
  /** Reported when incomplete files are removed. */
  #failed: WithoutOrigin<ReceiverEvent> | undefined;

  constructor(
    private readonly channel: Channel,
    private readonly invitation: Invitation,
    private readonly options: CheckedReceiveOptions,
    { writer, spare }: CastThreads,
    private readonly report: (event: ReceiverEvent) => void,
  ) {
    this.writer = writer;
    this.#groups = new GroupMembership({
      ...{ channel, invitation, options, writer, spare, over: this.#over.signal },
      onRoute: (node, transports) => this.#route(node, transports),
      fail: (error) => this.#fail(asCastError(error, channel.peer)),
    });
    this.#answers = new Answers(channel, writer);
  }

  /** Runs the cast; an error becomes an event. `frames` are the sender's frames after its invitation. */
  async run(frames: AsyncIterator<SenderFrame, void, undefined>): Promise<void> {
    try {
      await receiveTrace.promise(
        () => this.#facts(),
        () => this.#receive(frames),
      );
    } catch (error) {
      this.#fail(asCastError(error, this.channel.peer));
    } finally {
      await this.#leave();
    }
  }

  /** Whether `once` counts it: not a dry run, and not a round after which the sender calls again. */
  get isCounted(): boolean {
    return !this.#isCalledAgain && !this.#isDryRun;
  }

  get #isDryRun(): boolean {
    return this.invitation.comparison?.dryRun === true;
  }

  /** Whether it still takes files. */
  get isActive(): boolean {
    return !this.#outcome && !this.#failure;
  }

  /** Whether it has failed; it may still put files away. */
  get isEnding(): boolean {
    return this.#failure !== undefined;
  }

  /** The receiver is closed. */
  abort(): void {
    this.#fail(new CastError('ERR_RDMC_ABORTED', 'the receiver was closed'));
  }

  #facts(): Totals & { readonly castId: string; readonly from: string } {
    const { castId, senderName } = this.invitation;
    return Object.assign(this.#totals, { castId, from: `${senderName} (${this.channel.remoteHost})` });
  }

  /** The totals are known. @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_SEVERAL_FILES */
  #announce(totals: Totals & Parameters<typeof checkOneFile>[0]): void {
    if (this.#announced) throw protocolError('the sender announced the totals of the cast twice');
    if (this.options.oneFile) checkOneFile(totals);
    const { files, bytes } = totals;
    Object.assign(this.#totals, { files, bytes });
    this.#announced = true;
    this.#event({
      type: 'began',
      files,
      bytes,
      encrypted: this.invitation.encrypted,
      dryRun: this.#isDryRun,
    });
  }

  /** Rejects with the failure, which is known already, for the trace. */
  async #receive(frames: AsyncIterator<SenderFrame, void, undefined>): Promise<void> {
    if (await this.#accept()) await this.#follow(frames);
    if (this.#failure) throw this.#failure;
  }

  async #accept(): Promise<boolean> {
    const { directory, parts } = this.options;
    const { encrypted } = this.invitation;
    try {
      if (this.options.requireEncryption && !encrypted) throw encryptionRequired();
      this.#takers = new Takers(this.options, this.#facts(), (error) => this.#fail(error));
      const order = openOrder(this.invitation, this.options, this.#takers.ports);
      const { freeBytes } = await this.writer.open(order);
      const meshPort = await this.#groups.listen();
      if (!this.invitation.comparison) this.#announce(this.invitation);
      const how = { ...(directory === undefined && { checked: true }), ...(parts && { ranges: true }) };
      this.channel.send({ type: 'ready', meshPort, freeBytes, ...how });
      this.#heartbeat = setInterval(() => this.#sendProgress(), HEARTBEAT_MS);
      this.#listen();
      return true;
    } catch (error) {
      this.#failure = asCastError(error, this.channel.peer);
      const { code, message } = this.#failure;
      this.#failed = { type: 'failed', files: 0, bytes: 0, code, message, dryRun: this.#isDryRun };
      this.channel.send({ type: 'refused', code, message });
      return false;
    }
  }

  /** The sender sends heartbeats from this receiver's answer on. How long that takes does not depend on the sender. */
  #listen(): void {
    const { stallTimeoutMs } = this.invitation;
    const lost = (): void => this.#fail(senderSilent(this.channel.peer, stallTimeoutMs));
    this.#silence = new SilenceTimer(HEARTBEAT_MS, stallTimeoutMs, lost);
  }

  async #follow(frames: AsyncIterator<SenderFrame, void, undefined>): Promise<void> {
    for (;;) {
      const { value: frame, done } = await frames.next();
      if (done || this.#over.signal.aborted) break;
      this.#silence?.heard();
      this.#take(frame);
    }
    if (this.#outcome === undefined) throw senderLost(this.channel.peer, undefined);
  }

  #take(frame: SenderFrame): void {
    switch (frame.type) {
      case 'pulse':
        return;
      case 'offer':
        void this.#orFail(() => this.#answers.compare(frame));
        return;
      case 'offered':
        this.#announce(frame);
        void this.#orFail(() => this.#answers.surplus());
        return;
      case 'hashes':
        void this.#orFail(() => this.#answers.compareBlocks(frame));
        return;
      case 'head':
        void this.#orFail(() => this.#answers.want(frame));
        return;
      case 'check':
        void this.#orFail(() => this.#check());
        return;
      case 'members':
        this.#groups.join(frame);
        return;
      case 'part':
        void this.#part(frame.groupId);
        return;
      case 'group':
        this.#groups.start(frame.group, frame.nextMessage);
        return;
      case 'outline':
        this.#groups.outline(frame);
        return;
      case 'finish':
        void this.#finish(frame);
        return;
      case 'abort':
        this.#isCalledAgain = frame.again === true;
        this.#fail(new CastError(frame.code, frame.message));
        return;
      default:
        throw protocolError(`the sender sent an unexpected '${frame.type}'`);
    }
  }

  async #orFail(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#fail(asCastError(error, this.channel.peer));
    }
  }

  /** Reported once: survivors continue on the same device. */
  #route({ device }: RdmcNode, transports: readonly string[]): void {
    if (this.#routed) return;
    this.#routed = true;
    const { files, bytes } = this.#totals;
    this.#event({ type: 'route', files, bytes, ...routeOf(device, transports) });
  }

  async #part(groupId: number): Promise<void> {
    await this.#groups.part();
    this.channel.send({ type: 'parted', groupId, receivedMessages: this.#groups.messages });
  }

  async #check(): Promise<void> {
    await this.#groups.passed();
    await this.#answers.unbuilt();
  }

  async #finish({ messages, remove }: FinishFrame): Promise<void> {
    try {
      await this.#groups.passed();
      const report = await this.writer.finish({ messages, remove });
      const { afterCast } = this.options;
      this.#after = runAfterCast(afterCast, this.invitation, this.#facts(), report, this.#over.signal);
      await this.#after;
      if (this.#failure) return;
      const { names: _, ...stored } = report;
      this.#outcome = { type: 'done', ...stored, problems: [...stored.problems] };
      const seconds = (performance.now() - this.#began) / 1000;
      this.channel.send(this.#outcome);
      this.#event({ ...stored, type: 'complete', seconds, dryRun: this.#isDryRun });
    } catch (error) {
      this.#fail(asCastError(error, this.channel.peer));
    }
  }

  #sendProgress(): void {
    this.channel.send({
      type: 'progress',
      receivedMessages: this.#groups.messages,
      partialBytes: this.#groups.partialBytes,
      storedMessages: this.writer.storedMessages,
      writerBusyMs: this.writer.busyMs,
    });
    if (!this.#announced || this.#outcome || this.#failure) return;
    const { files, bytes } = this.#totals;
    const received = this.#groups.bytes;
    const receivedBytes = this.invitation.isStream ? received : Math.min(bytes, received);
    this.#event({ type: 'progress', files, bytes, receivedBytes, storedBytes: this.writer.storedBytes });
  }

  /** Only the first failure counts. */
  #fail(error: CastError): void {
    if (this.#failure || this.#outcome) return;
    this.#failure = error;
    const { code, message } = error;
    this.channel.send({ type: 'failed', code, message });
    const { storedFiles, storedBytes } = this.writer;
    const stored = { files: storedFiles, bytes: storedBytes };
    this.#failed = { type: 'failed', ...stored, code, message, dryRun: this.#isDryRun };
    this.#over.abort(error);
    this.#groups.abort();
    void this.channel.end();
  }

  /** Ends everything. Complete files stay, and what a later cast can continue. */
  async #leave(): Promise<void> {
    this.#over.abort();
    this.#silence?.stop();
    clearInterval(this.#heartbeat);
    this.#groups.abort();
    this.#takers?.close(this.#failure);
    // When everything is stored and reported, the sender need not wait for threads to end.
    if (this.#outcome) void this.channel.end();
    try {
      await this.#groups.leave();
      await this.writer.end();
    } finally {
      this.#takers?.release();
      if (this.#failed) this.#event(this.#failed);
    }
    await this.#groups.close();
    await this.#after?.catch(() => {});
    await this.channel.end();
  }

  #event(event: WithoutOrigin<ReceiverEvent>): void {
    const { castId, senderName } = this.invitation;
    this.report({ ...event, castId, from: `${senderName} (${this.channel.remoteHost})` });
  }
}
