import { onAbort, within } from '@rdmc/common';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import { AbortError, type CastError, toCastError } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { messageSize } from '../message-size.js';
import type { CastReport } from '../reader/orders.js';
import { routeOf } from '../route.js';
import { type FormedMesh, MeshFormation } from './mesh-formation.js';
import type { ProgressPublisher } from './progress-publisher.js';
import { Pump } from './pump.js';
import { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';
import { StallWatch } from './stall-watch.js';
import { Streaming } from './streaming.js';
import { TokenBucket } from './token-bucket.js';

/** The outcome of one attempt. */
export interface SessionOutcome {
  readonly links: readonly ReceiverLink[];
  readonly survey: FileSurvey;
  /** Undefined where nothing was sent. */
  readonly report: CastReport | undefined;
}

/** Casts once to some receivers: surveys the files, forms the mesh, streams, and ends. */
export class Session {
  readonly #reader = new ReaderThread();
  readonly #over = new AbortController();
  /** Connections of the latest round of mesh formation; those of earlier rounds are closed. */
  #links: readonly ReceiverLink[] = [];
  #formed: FormedMesh | undefined;
  #watch: StallWatch | undefined;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly targets: readonly Target[],
    private readonly options: CheckedCastOptions,
    private readonly publisher: ProgressPublisher,
  ) {}

  /** @throws CastError where the sender itself fails; AbortError */
  async run(): Promise<SessionOutcome> {
    const { signal } = this.options;
    const forget = onAbort(signal, () => this.#over.abort(new AbortError('the cast', signal!)));
    let failure: CastError | AbortError | undefined;
    try {
      return await within(this.#cast(), { signal: this.#over.signal });
    } catch (error) {
      // The interrupted operation may fail first, with another error.
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
    const { publisher, options } = this;
    const survey = await this.#reader.survey(this.paths);
    publisher.survey = survey;
    publisher.enter('connecting');
    const messageBytes = messageSize(survey.contentBytes, options.messageBytes, options.bandwidthLimit);
    const formation = new MeshFormation(options, survey, messageBytes, this.#over.signal, (links) => {
      this.#links = links;
      for (const link of links) publisher.links.set(link.name, link);
    });
    this.#formed = await formation.run(this.targets);
    if (this.#over.signal.aborted) {
      // `#end` has already run, so close the node here.
      await this.#formed?.node.close();
      this.#over.signal.throwIfAborted();
    }
    if (this.#formed === undefined) return this.#outcome(survey, undefined);
    const messages = await this.#send(this.#formed, messageBytes);
    const report = await this.#reader.report();
    if (messages !== undefined) {
      publisher.enter('finishing');
      const { files, bytes } = report.totals;
      const living = this.#formed.links.filter(({ alive }) => alive);
      await Promise.all(living.map((link) => link.finish(messages, files, bytes)));
    }
    return this.#outcome(survey, report);
  }

  /** Returns the number of messages; undefined where no receiver is left. */
  async #send(formed: FormedMesh, messageBytes: number): Promise<number | undefined> {
    const { node, links, address, blockBytes } = formed;
    const { publisher, options } = this;
    const confirmed = (): number => {
      const living = links.filter(({ alive }) => alive);
      return Math.min(...living.map(({ progress }) => progress.receivedMessages));
    };
    const pump = new Pump(this.#reader, new TokenBucket(options.bandwidthLimit), messageBytes, confirmed);
    publisher.pump = pump;
    for (const link of links) link.madeMessages = () => pump.madeMessages;
    const streaming = new Streaming(formed, pump, options, this.#over.signal, ({ transports }) => {
      publisher.route = {
        ...routeOf(node.device, transports),
        algorithm: options.algorithm,
        ...{ messageBytes, blockBytes, address },
      };
      publisher.publish();
    });
    const sending = (): boolean => pump.outstanding > 0;
    this.#watch = new StallWatch(options.stallTimeoutMs, links, sending, (link, error) =>
      streaming.drop(link, error),
    );
    await Promise.all([this.#reader.begin(node.device.handle, formed.checksum), pump.allocate(node)]);
    publisher.enter('sending');
    return streaming.run();
  }

  #outcome(survey: FileSurvey, report: CastReport | undefined): SessionOutcome {
    return { links: [...this.publisher.links.values()], survey, report };
  }

  async #end(failure: CastError | AbortError | undefined): Promise<void> {
    this.#over.abort();
    this.#watch?.stop();
    const closing = this.#links.filter(({ alive }) => alive).map((link) => link.close(failure));
    await this.#reader.end();
    await this.#formed?.node.close();
    await Promise.all(closing);
  }
}
