import { setMaxListeners } from 'node:events';
import { onAbort, within } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import { commonCodec } from '../compression/codec.js';
import { AbortError, type CastError, toCastError } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import type { CastReport } from '../reader/orders.js';
import { routeOf } from '../route.js';
import { SpareNode } from '../spare-node.js';
import { dropReceiver } from './drop-receiver.js';
import { InputFeed } from './input-feed.js';
import { type Formation, type FormedMesh, MeshFormation } from './mesh-formation.js';
import type { Phase } from './phase.js';
import { type Preview, previewOf } from './preview.js';
import type { ProgressPublisher } from './progress-publisher.js';
import { allocateRegions, Pump, type Region } from './pump.js';
import { ReaderThread } from './reader-thread.js';
import { planRebuild } from './rebuild.js';
import type { ReceiverLink } from './receiver-link.js';
import { StallWatch } from './stall-watch.js';
import { Streaming } from './streaming.js';
import { TokenBucket } from './token-bucket.js';

/** The outcome of one attempt. */
export interface SessionOutcome {
  readonly links: readonly ReceiverLink[];
  readonly survey: FileSurvey;
  /** Undefined where no receiver was ready. */
  readonly report: CastReport | undefined;
  /** Of a dry run. */
  readonly preview: Preview | undefined;
}

/** Casts once to some receivers: surveys the files, compares, forms the mesh, streams, and ends. */
export class Session {
  readonly #reader = new ReaderThread();
  readonly #spare = new SpareNode();
  readonly #feed: InputFeed | undefined;
  readonly #over = new AbortController();
  /** Connections of the latest round of mesh formation; those of earlier rounds are closed. */
  #links: readonly ReceiverLink[] = [];
  #survey: Promise<FileSurvey> | undefined;
  #node: RdmcNode | undefined;
  readonly #watch: StallWatch<ReceiverLink>;
  #leaving: Promise<void> | undefined;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly targets: readonly Target[],
    private readonly options: CheckedCastOptions,
    private readonly publisher: ProgressPublisher,
  ) {
    this.#feed = options.input && new InputFeed(options.input);
    // Each receiver that is dialled listens to it.
    setMaxListeners(0, this.#over.signal);
    this.#watch = this.#newWatch();
  }

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

  /**
   * Watches each receiver from its answer to the invitation on, up to the end: other receivers may take long to answer or to
   * join, and storing, or the function after a cast, may take longer than a receiver waits for a sign of the sender.
   */
  #newWatch(): StallWatch<ReceiverLink> {
    const { publisher, options } = this;
    const { pumps } = publisher;
    // A heartbeat in front of the invitation would break the greeting.
    const ready = (): readonly ReceiverLink[] => this.#links.filter(({ state }) => state !== 'connecting');
    const receiving = (): readonly ReceiverLink[] => publisher.phases?.[pumps.length - 1]?.links ?? [];
    const sending = (): boolean => (pumps.at(-1)?.outstanding ?? 0) > 0 || this.#feed?.isHeldUp === true;
    const drop = (link: ReceiverLink, error: CastError): void => dropReceiver(link, error, options.logger);
    return new StallWatch(options.stallTimeoutMs, ready, receiving, sending, drop);
  }

  async #cast(): Promise<SessionOutcome> {
    const { publisher, options } = this;
    const begun = this.#begin();
    // Where entries are compared, receivers are dialled while the reader starts, and invited when it has the paths.
    begun.catch(() => {});
    // Its worker starts while the receivers answer.
    if (!options.trace && !options.comparison?.dryRun) this.#spare.refill();
    const surveyed = (): Promise<FileSurvey> => this.#surveyed();
    const { signal } = this.#over;
    const threads = { reader: this.#reader, spare: this.#spare };
    const formation = new MeshFormation(options, { begun, surveyed }, threads, signal, (links) => {
      this.#links = links;
      for (const link of links) publisher.links.set(link.name, link);
    });
    const formed = await formation.run(this.targets);
    this.#node = formed?.mesh?.node;
    if (this.#over.signal.aborted) {
      // `#end` has already run, so close the node here.
      await this.#node?.close();
      this.#over.signal.throwIfAborted();
    }
    const survey = await this.#surveyed();
    if (formed === undefined) return this.#outcome(survey, undefined, undefined);
    publisher.phases = formed.phases;
    if (formed.mesh) await this.#send(formed, formed.mesh);
    const report = await this.#reader.report();
    const remove = options.comparison?.remove === true && survey.problemCount + report.problemCount === 0;
    const isDryRun = options.comparison?.dryRun === true;
    const preview = isDryRun ? await previewOf(this.#reader, formed.links, remove) : undefined;
    // Nothing is read or sent any more: thread and mesh end while the receivers store.
    void this.#leave();
    await this.#finish(formed, report, remove && !isDryRun);
    return this.#outcome(survey, report, preview);
  }

  /** Checks the paths; where entries are not compared, also lists them. */
  async #begin(): Promise<void> {
    const { paths, options, publisher } = this;
    const { rules, listed, archive } = options;
    await this.#reader.beginSurvey({ paths, rules, listed, archive, input: this.#feed?.order() });
    if (!options.comparison) await this.#surveyed();
    publisher.enter('connecting');
  }

  /** Resolves when all entries are listed. */
  #surveyed(): Promise<FileSurvey> {
    this.#survey ??= this.#reader.finishSurvey().then((survey) => {
      this.publisher.survey = survey;
      return survey;
    });
    return this.#survey;
  }

  /** Sends the streams one after the other. */
  async #send({ links, phases, checksum }: Formation, mesh: FormedMesh): Promise<void> {
    const { node, address, choice } = mesh;
    const { messageBytes } = choice;
    const { publisher, options } = this;
    const codec = options.compress ? commonCodec(mesh.links.map(({ codecs }) => codecs)) : undefined;
    const streaming = new Streaming(mesh, options, this.#over.signal, ({ transports }) => {
      publisher.route = {
        ...routeOf(node.device, transports),
        ...{ ...choice, address },
        encrypted: options.encrypt,
        compression: codec ?? null,
      };
      publisher.publish();
    });
    const { pumps } = publisher;
    const bucket = new TokenBucket(options.bandwidthLimit);
    // The first group forms meanwhile.
    const regions = this.#buffers(node, messageBytes);
    publisher.enter('sending');
    const sendPhase = async (phase: Phase, isLast: boolean): Promise<void> => {
      const { selection, sentBlocks } = phase;
      const confirmed = (): number => confirmedBy(phase.links);
      const filler = this.#feed?.filler(this.#reader, confirmed) ?? this.#reader;
      const checked = links.some((link) => link.checked);
      const begun = this.#reader.begin({ checksum, selection, sentBlocks, checked, codec });
      const ready = Promise.all([regions, begun]).then(([memory]) => memory);
      // The pump waits for it when the group is being formed.
      ready.catch(() => {});
      const pump = new Pump(filler, bucket, ready, messageBytes, confirmed);
      pumps.push(pump);
      for (const link of phase.links) link.pumps.push(pump);
      await streaming.run({ number: pumps.length - 1, isLast, receivers: phase.links, pump });
    };
    const sendAll = async (all: readonly Phase[]): Promise<void> => {
      for (const [at, phase] of all.entries()) await sendPhase(phase, at === all.length - 1);
    };
    await sendAll(phases);
    const rebuild = await planRebuild(links, this.#reader);
    publisher.phases = [...phases, ...rebuild];
    await sendAll(rebuild);
  }

  /**
   * The buffers of the sender, which the reader can fill.
   * @throws CastError with any code: without them, a group of survivors would fail too
   */
  async #buffers(node: RdmcNode, messageBytes: number): Promise<Region[]> {
    const attached = this.#reader.attach(node.device.handle);
    try {
      const [regions] = await Promise.all([allocateRegions(node, messageBytes), attached]);
      return regions;
    } catch (error) {
      throw toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
    }
  }

  async #finish({ links }: Formation, report: CastReport, remove: boolean): Promise<void> {
    this.publisher.enter('finishing');
    const { files, bytes } = report.totals;
    const living = links.filter(({ alive }) => alive);
    await Promise.all(living.map((link) => link.finish({ files, bytes, remove })));
  }

  #outcome(survey: FileSurvey, report: CastReport | undefined, preview: Preview | undefined): SessionOutcome {
    return { links: [...this.publisher.links.values()], survey, report, preview };
  }

  async #end(failure: CastError | AbortError | undefined): Promise<void> {
    this.#over.abort();
    this.#feed?.close();
    this.#watch.stop();
    const closing = this.#links.filter(({ alive }) => alive).map((link) => link.close(failure));
    await Promise.all([this.#leave(), this.#spare.end(), ...closing]);
  }

  /** The reader uses memory of the node. */
  #leave(): Promise<void> {
    this.#leaving ??= this.#reader.end().then(() => this.#node?.close());
    return this.#leaving;
  }
}

/** Messages that all receivers of a stream have. */
function confirmedBy(links: readonly ReceiverLink[]): number {
  const living = links.filter(({ alive }) => alive);
  return Math.min(...living.map((link) => link.receivedOfStream));
}
