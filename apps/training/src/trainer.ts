import type { MemoryRegion } from '@rdmc/group';
import { Crew } from './crew.js';
import { TrainingError } from './errors.js';
import type { Ledger } from './ledger.js';
import { CrewFailure, type Loss, lossesOf } from './loss.js';
import { Topic } from './messages.js';
import { checksumOf, sumOf, update } from './model.js';
import type { TrainingNode } from './node.js';
import { NumberedFloats, numberedBytes } from './numbered-floats.js';
import type { ProcessReport } from './process-report.js';
import { type Settings, TRAINER } from './settings.js';
import type { StepRecord } from './step-record.js';

/** Events of a job for the caller. */
export interface TrainingEvents {
  /** Called after each step. */
  step(step: number): void;
  /** Called when a worker was lost. */
  lost(loss: Loss): void;
}

/** Results of the steps. */
export interface Training {
  /** One for each step, in order. */
  readonly records: readonly StepRecord[];
  /** The workers that were lost, in order. */
  readonly losses: readonly Loss[];
  /** Reports of workers that were killed on purpose, from the time when they were stopped. */
  readonly lastWords: readonly ProcessReport[];
  /** Number of groups and channels that were created. */
  readonly crews: number;
  /** The transports of blocks in use. */
  readonly transports: readonly string[];
  /** Time of all steps, repeated ones included. */
  readonly trainingMs: number;
  /** Times of the steps that were not repeated. */
  readonly multicastMs: number;
  /** Bytes that workers received by multicast. */
  readonly deliveredBytes: number;
  /** Messages with gradients that the trainer took. */
  readonly gradients: number;
}

/** Runs the steps: multicasts, gathers, sums, updates, and appends to the log. */
export class Trainer {
  readonly #records: StepRecord[] = [];
  readonly #losses: Loss[] = [];
  readonly #lastWords: ProcessReport[] = [];
  #workers: readonly number[];
  #crew: Crew | undefined;
  #crews = 0;
  #transports: readonly string[] = [];
  #multicastMs = 0;
  #deliveredBytes = 0;
  #gradients = 0;

  private constructor(
    private readonly node: TrainingNode,
    private readonly ledger: Ledger,
    private readonly settings: Settings,
    private readonly events: TrainingEvents,
    private readonly region: MemoryRegion,
  ) {
    this.#workers = [...node.mesh.peers.keys()].sort((one, other) => one - other);
  }

  static async create(
    node: TrainingNode,
    ledger: Ledger,
    settings: Settings,
    events: TrainingEvents,
  ): Promise<Trainer> {
    const region = await node.groups.allocate(numberedBytes(settings.parameters));
    new NumberedFloats(region.view()).values.fill(0);
    return new Trainer(node, ledger, settings, events, region);
  }

  /** @param kill ends the process of a worker */
  async train(kill: (worker: number) => void, signal: AbortSignal): Promise<Training> {
    this.node.mesh.onMessage(Topic.HELD, (worker) => kill(worker));
    const startedAt = performance.now();
    for (let step = 1; step <= this.settings.steps; step += 1) {
      await this.#untilDone(step, (crew) => this.#step(crew, step), signal);
      this.events.step(step);
    }
    const trainingMs = performance.now() - startedAt;
    await this.#untilDone(this.settings.steps, (crew) => crew.end(), signal);
    await this.region.close();
    return {
      records: this.#records,
      losses: this.#losses,
      lastWords: this.#lastWords,
      crews: this.#crews,
      transports: this.#transports,
      trainingMs,
      multicastMs: this.#multicastMs,
      deliveredBytes: this.#deliveredBytes,
      gradients: this.#gradients,
    };
  }

  /** Repeats an action with new crews of the remaining workers, as long as workers are lost. */
  async #untilDone(step: number, act: (crew: Crew) => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      try {
        this.#crew ??= await this.#form();
        return await act(this.#crew);
      } catch (error) {
        this.#crew = undefined;
        this.#take(error, step);
      }
    }
  }

  async #form(): Promise<Crew> {
    this.#crews += 1;
    const order = { number: this.#crews, workers: this.#workers };
    const crew = await Crew.form(this.node, order, this.settings.parameters);
    this.#transports = crew.transports;
    return crew;
  }

  async #step(crew: Crew, step: number): Promise<void> {
    const parameters = new NumberedFloats(this.region.view());
    parameters.step = step;
    if (step === this.settings.killAt && this.#lastWords.length === 0) await this.#holdOne(step);
    const { gradients, multicastMs } = await crew.step(this.region);
    const received = gradients.map(({ bytes }) => new NumberedFloats(bytes));
    const other = received.find((gradient) => gradient.step !== step);
    if (other) {
      const message = `step ${step} got a gradient of step ${other.step}`;
      throw new TrainingError('ERR_RDMC_TRAINING_MISMATCH', message);
    }
    const values = received.map((gradient) => gradient.values);
    update(parameters.values, sumOf(values, this.settings.parameters), values.length);
    for (const message of gradients) message.release();
    this.#multicastMs += multicastMs;
    this.#deliveredBytes += numberedBytes(this.settings.parameters) * crew.workers.length;
    this.#gradients += gradients.length;
    const record = { step, workers: crew.workers, checksum: checksumOf(parameters.values) };
    await this.ledger.append(record);
    this.#records.push(record);
  }

  /** Stops a worker in the middle of the step, to be killed there: one that has a replica of the log. */
  async #holdOne(step: number): Promise<void> {
    const victim = this.ledger.backups[0]!;
    const report = await this.node.mesh.request(victim, Topic.HOLD, { step });
    this.#lastWords.push(report as ProcessReport);
  }

  /** Continues without the lost workers, or throws. */
  #take(error: unknown, step: number): void {
    const losses = error instanceof CrewFailure ? lossesOf(error, step) : [];
    if (losses.length === 0) throw error instanceof CrewFailure ? error.cause : error;
    for (const loss of losses) {
      if (loss.member === TRAINER) throw (error as CrewFailure).cause;
      this.#losses.push(loss);
      this.events.lost(loss);
    }
    this.#workers = this.#workers.filter((worker) => !losses.some(({ member }) => member === worker));
    if (this.#workers.length > 0) return;
    throw new TrainingError('ERR_RDMC_TRAINING_NO_WORKERS', `no worker is left in step ${step}`);
  }
}
