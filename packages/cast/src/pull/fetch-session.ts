import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { CAST_PROTOCOL_VERSION, DEFAULT_STALL_TIMEOUT_MS } from '../constants.js';
import { SOFTWARE } from '../identity.js';
import type { Latest } from '../latest.js';
import { callServer, type ServerChannel } from './call-server.js';
import type { CheckedFetchOptions } from './fetch-options.js';
import { type FetchProgress, type FetchSummary, fetchSummary } from './fetch-summary.js';
import { PieceLeader } from './piece-leader.js';
import { type Opened, PullSession } from './pull-session.js';
import { isOrigin } from './roles.js';
import { serveOn } from './serve-on.js';
import { ServerErrors } from './server-errors.js';

/** How much interrupted fetches may leave: they are removed after some days, and where a fetch needs the room. */
const RESUME_LIMIT = { share: 1 };

/** One fetch: asks the server, says what is here, receives what is missing, stores. */
export class FetchSession extends PullSession {
  readonly #began = performance.now();
  /** When everything was here: this end may serve on for long. */
  #complete: number | undefined;
  #phase: FetchProgress['phase'] = 'connecting';

  constructor(
    private readonly options: CheckedFetchOptions,
    private readonly latest: Latest<FetchProgress>,
  ) {
    const { directory, fsync, compare, signal, meshPorts, device, transport, logger } = options;
    super({
      what: 'the fetch',
      storage: { directory, castId: randomUUID(), fsync, hasLinks: false, resumeLimit: RESUME_LIMIT },
      errors: new ServerErrors('server', options.server),
      ...{ compare, signal, meshPorts, device, transport, logger },
      servesOn: options.serveOnMs > 0,
    });
  }

  /** @throws CastError, AbortError */
  async run(): Promise<FetchSummary> {
    this.#enter('connecting');
    const { offer, report } = await this.pull();
    this.#enter('done');
    const seconds = ((this.#complete ?? performance.now()) - this.#began) / 1000;
    return fetchSummary(offer, report, seconds, this.receiver?.isEncrypted === true);
  }

  protected override open(): Promise<Opened> {
    return callServer(this.options, this.over.signal, (called) => this.#ask(called));
  }

  protected override async serveOn(opened: Opened): Promise<void> {
    this.#complete = performance.now();
    // One that lacked nothing joins the others first.
    if (this.receiver) this.#enter('serving');
    const { channel, offer } = opened;
    const { serveOnMs: durationMs, logger } = this.options;
    await serveOn(opened, {
      ...{ durationMs, logger, signal: this.over.signal },
      join: async (frame) => {
        await this.join(channel, frame, offer);
        this.#enter('serving');
      },
      newLeader: () => {
        const { node, mesh } = this.receiver!;
        return new PieceLeader({ node, mesh, offer, writer: this.writer, signal: this.over.signal });
      },
    });
  }

  protected override publish(phase: FetchProgress['phase'] | undefined): void {
    this.#enter(phase === undefined || this.#phase === 'serving' ? this.#phase : phase);
  }

  /** Asks, checks the server's proof, and waits for its offer: it may have to hash first. */
  async #ask(channel: ServerChannel): Promise<Opened> {
    const { name, keys } = this.options;
    const frames = channel[Symbol.asyncIterator]();
    const ask = { version: CAST_PROTOCOL_VERSION, software: SOFTWARE, hostName: hostname(), name };
    channel.send({ type: 'ask', ...ask });
    this.begin(channel, DEFAULT_STALL_TIMEOUT_MS);
    try {
      const proof = await this.expect(frames, 'proof');
      if (!isOrigin(channel.socket, keys.origin, Buffer.from(proof.signature, 'hex'))) {
        throw this.errors.notProved();
      }
      const offer = await this.expect(frames, 'offer');
      this.listen(offer.stallTimeoutMs);
      return { channel, frames, offer };
    } catch (error) {
      // Another call may follow, to a server that does not answer yet.
      this.hangUp(channel);
      throw error;
    }
  }

  #enter(phase: FetchProgress['phase']): void {
    this.#phase = phase;
    this.latest.set({
      phase,
      totalBytes: this.totalBytes,
      storedBytes: this.writer.receivedBytes,
      members: this.receiver?.members ?? 0,
    });
  }
}
