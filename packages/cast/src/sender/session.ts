import { onAbort, within } from '@rdmc/common';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import { AbortError, type CastError, toCastError } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { messageSize } from '../message-size.js';
import type { CastReport } from '../reader/orders.js';
import { routeOf } from '../route.js';
import type { Board } from './board.js';
import { type Gathered, Gathering } from './gathering.js';
import { Pump } from './pump.js';
import { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';
import { StallWatch } from './stall-watch.js';
import { Streaming } from './streaming.js';
import { TokenBucket } from './token-bucket.js';

/** What one attempt has come to. */
export interface SessionOutcome {
  readonly links: readonly ReceiverLink[];
  readonly survey: FileSurvey;
  /** Undefined where nothing was sent. */
  readonly report: CastReport | undefined;
}

/** Casts once to some receivers: surveys, gathers, streams, and ends. */
export class Session {
  readonly #reader = new ReaderThread();
  readonly #over = new AbortController();
  /** Connections of every round of gathering; those of earlier rounds are closed. */
  #links: readonly ReceiverLink[] = [];
  #gathered: Gathered | undefined;
  #watch: StallWatch | undefined;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly targets: readonly Target[],
    private readonly options: CheckedCastOptions,
    private readonly board: Board,
  ) {}

  /** @throws CastError where nothing can be sent to anybody, whatever the receivers do; AbortError */
  async run(): Promise<SessionOutcome> {
    const { signal } = this.options;
    const forget = onAbort(signal, () => this.#over.abort(new AbortError('the cast', signal!)));
    let failure: CastError | AbortError | undefined;
    try {
      return await within(this.#cast(), { signal: this.#over.signal });
    } catch (error) {
      // What is interrupted may fail first, and with an error of its own.
      failure = signal?.aborted
        ? new AbortError('the cast', signal)
        : toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
      throw failure;
    } finally {
      forget();
      await this.#end(failure);
    }
  }

  async #cast(): Promise<SessionOutcome> {
    const { board, options } = this;
    const survey = await this.#reader.survey(this.paths);
    board.survey = survey;
    board.enter('connecting');
    const messageBytes = messageSize(survey.contentBytes, options.messageBytes, options.bandwidthLimit);
    const gathering = new Gathering(options, survey, messageBytes, this.#over.signal, (links) => {
      this.#links = links;
      for (const link of links) board.links.set(link.name, link);
    });
    this.#gathered = await gathering.run(this.targets);
    if (this.#over.signal.aborted) {
      // Too late for `#end`, which has been here already.
      await this.#gathered?.node.close();
      this.#over.signal.throwIfAborted();
    }
    if (this.#gathered === undefined) return this.#outcome(survey, undefined);
    const messages = await this.#send(this.#gathered, messageBytes);
    const report = await this.#reader.report();
    if (messages !== undefined) {
      board.enter('finishing');
      const { files, bytes } = report.totals;
      const living = this.#gathered.links.filter(({ alive }) => alive);
      await Promise.all(living.map((link) => link.finish(messages, files, bytes)));
    }
    return this.#outcome(survey, report);
  }

  /** Returns the number of messages; undefined where nobody is left. */
  async #send(gathered: Gathered, messageBytes: number): Promise<number | undefined> {
    const { node, links, address, blockBytes } = gathered;
    const { board, options } = this;
    const confirmed = (): number => {
      const living = links.filter(({ alive }) => alive);
      return Math.min(...living.map(({ progress }) => progress.receivedMessages));
    };
    const pump = new Pump(this.#reader, new TokenBucket(options.bandwidthLimit), messageBytes, confirmed);
    board.pump = pump;
    for (const link of links) link.madeMessages = () => pump.madeMessages;
    const streaming = new Streaming(gathered, pump, options, this.#over.signal, ({ transports }) => {
      board.route = {
        ...routeOf(node.device, transports),
        algorithm: options.algorithm,
        ...{ messageBytes, blockBytes, address },
      };
      board.publish();
    });
    const sending = (): boolean => pump.outstanding > 0;
    this.#watch = new StallWatch(options.stallTimeoutMs, links, sending, (link, error) =>
      streaming.drop(link, error),
    );
    await Promise.all([this.#reader.begin(node.device.handle, gathered.checksum), pump.allocate(node)]);
    board.enter('sending');
    return streaming.run();
  }

  #outcome(survey: FileSurvey, report: CastReport | undefined): SessionOutcome {
    return { links: [...this.board.links.values()], survey, report };
  }

  async #end(failure: CastError | AbortError | undefined): Promise<void> {
    this.#over.abort();
    this.#watch?.stop();
    const closing = this.#links.filter(({ alive }) => alive).map((link) => link.close(failure));
    await this.#reader.end();
    await this.#gathered?.node.close();
    await Promise.all(closing);
  }
}
