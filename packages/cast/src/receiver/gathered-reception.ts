import type { RdmcNode } from '@rdmc/group';
import type { ControlChannel } from '../control/control-channel.js';
import type { Invitation, ReceiverFrame, SenderFrame } from '../control/frames.js';
import { CastError, invalidOption } from '../errors.js';
import { type FetcherFrame, pullShapes, type ServerFrame } from '../pull/frames.js';
import { type Frames, type Opened, PullSession } from '../pull/pull-session.js';
import { ServerErrors } from '../pull/server-errors.js';
import type { PulledReport } from '../pull/writer-orders.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import type { ReceiverEvent } from '../receiver-events.js';
import { routeOf } from '../route.js';
import { checkOneFile, runAfterCast } from './after-cast.js';
import { receiveTrace } from './receive-trace.js';
import { asCastError, encryptionRequired } from './reception-errors.js';
import type { RunningReception, WithoutOrigin } from './running-reception.js';

type Channel = ControlChannel<ReceiverFrame, SenderFrame>;
type SenderFrames = AsyncIterator<SenderFrame, void, undefined>;

export interface GatheredParts {
  readonly channel: Channel;
  readonly invitation: Invitation;
  readonly gathering: NonNullable<Invitation['gathering']>;
  readonly options: CheckedReceiveOptions;
  readonly report: (event: ReceiverEvent) => void;
}

/**
 * One cast at a receiver, whose sender gathers receivers that begin at different times. The receiver does what a fetcher does
 * (`pull/pull-session.ts`), over the connection that the sender has dialled.
 */
export class GatheredReception extends PullSession implements RunningReception {
  readonly isCounted = true;
  readonly #began = performance.now();
  readonly #facts: { readonly castId: string; readonly from: string; files: number; bytes: number };
  #frames: SenderFrames | undefined;
  #announced = false;
  #answered = false;
  #routed = false;
  #isOver = false;

  constructor(private readonly parts: GatheredParts) {
    const { channel, invitation, gathering, options } = parts;
    const { directory = '', fsync, resume, resumeLimit, meshPorts, device, transport, logger } = options;
    const { castId, encrypted, senderName } = invitation;
    const limit = resume && gathering.resume ? resumeLimit : undefined;
    super({
      what: 'the cast',
      storage: { directory, castId, fsync, hasLinks: true, resumeLimit: limit },
      compare: gathering.by,
      signal: undefined,
      errors: new ServerErrors('sender', channel.peer),
      ...{ encrypted, meshPorts, device, transport, logger },
    });
    this.#facts = { castId, from: `${senderName} (${channel.remoteHost})`, files: 0, bytes: 0 };
  }

  get isEnding(): boolean {
    return this.over.signal.aborted;
  }

  get isActive(): boolean {
    return !this.#isOver && !this.isEnding;
  }

  abort(): void {
    this.fail(new CastError('ERR_RDMC_ABORTED', 'the receiver was closed'));
  }

  async run(frames: SenderFrames): Promise<void> {
    this.#frames = frames;
    try {
      const report = await receiveTrace.promise(
        () => this.#facts,
        () => this.#receive(),
      );
      this.#isOver = true;
      const { names: _, receivedBytes: _received, ...stored } = report;
      const seconds = (performance.now() - this.#began) / 1000;
      this.#event({ ...stored, type: 'complete', removed: 0, seconds });
    } catch (error) {
      this.#isOver = true;
      await this.#failed(asCastError(error, this.parts.channel.peer));
    }
  }

  async #receive(): Promise<PulledReport> {
    const { options, invitation } = this.parts;
    if (options.requireEncryption && !invitation.encrypted) throw encryptionRequired();
    if (options.directory === undefined) {
      throw invalidOption(
        'this receiver gives files to sinks, in their order, or to memory; a cast with waitFor needs receivers with a directory',
      );
    }
    return (await this.pull()).report;
  }

  async #failed({ code, message }: CastError): Promise<void> {
    if (!this.#answered) {
      this.parts.channel.send({ type: 'refused', code, message });
      await this.parts.channel.end();
    }
    this.#event({ type: 'failed', files: 0, bytes: this.writer.receivedBytes, code, message });
  }

  protected override async open(): Promise<Opened> {
    const { channel, invitation, options } = this.parts;
    channel.send({ type: 'gathered' });
    this.#answered = true;
    const pulled = channel.become<FetcherFrame, ServerFrame>(pullShapes.server, this.#frames!);
    this.begin(pulled.channel, invitation.stallTimeoutMs);
    const offer = await this.expect(pulled.frames, 'offer');
    const { files, bytes, directories, entries } = offer;
    if (options.oneFile) checkOneFile({ files, directories, links: entries - files - directories });
    Object.assign(this.#facts, { files, bytes });
    this.#announced = true;
    this.#event({ type: 'began', files, bytes, encrypted: invitation.encrypted });
    return { ...pulled, offer };
  }

  protected override publish(): void {
    if (!this.#announced || this.#isOver) return;
    const { files, bytes } = this.#facts;
    const storedBytes = this.writer.receivedBytes;
    const receivedBytes = Math.min(bytes, storedBytes + (this.receiver?.partialBytes ?? 0));
    this.#event({ type: 'progress', files, bytes, receivedBytes, storedBytes });
  }

  protected override formed({ device }: RdmcNode, transports: readonly string[]): void {
    if (this.#routed) return;
    this.#routed = true;
    const { files, bytes } = this.#facts;
    this.#event({ type: 'route', files, bytes, ...routeOf(device, transports) });
  }

  protected override async stored(report: PulledReport, frames: Frames): Promise<void> {
    const { options, invitation } = this.parts;
    if (!options.afterCast) return;
    void this.#watch(frames);
    const { castId, from } = this.#facts;
    const stored = { ...report, removed: 0 };
    await runAfterCast(options.afterCast, invitation, { castId, from }, stored, this.over.signal);
    this.over.signal.throwIfAborted();
  }

  /** Notices the loss of the sender while the function after the cast runs. */
  async #watch(frames: Frames): Promise<void> {
    try {
      for (;;) {
        const { value: frame, done } = await frames.next();
        if (done) throw this.errors.lost(undefined);
        if (frame.type === 'abort') throw this.errors.aborted(frame);
      }
    } catch (error) {
      this.fail(this.errors.from(error));
    }
  }

  #event(event: WithoutOrigin<ReceiverEvent>): void {
    const { castId, from } = this.#facts;
    this.parts.report({ ...event, castId, from });
  }
}
