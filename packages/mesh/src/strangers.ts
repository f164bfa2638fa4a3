import type { Socket } from 'node:net';
import {
  FIRST_BYTES_TICKS,
  HANDSHAKE_TICK_MS,
  HANDSHAKE_TICKS,
  SPARE_HANDSHAKES,
  STRANGER_SOURCES,
} from './constants.js';
import { type MeshError, protocolError } from './errors.js';
import { sourceOf } from './source-of.js';

/** What one source has here, each set in the order of arrival. */
class SourceQuota {
  readonly all = new Set<Stranger>();
  readonly silent = new Set<Stranger>();

  get size(): number {
    return this.all.size;
  }

  /**
   * The oldest that has been silent for a tick, else the oldest. A connection that has just arrived is silent as well:
   * among connections that said a few bytes, a rule without the tick would end every newcomer for the next one.
   */
  get leaving(): Stranger | undefined {
    const [silent] = this.silent;
    if (silent !== undefined && silent.ticks > 0) return silent;
    const [oldest] = this.all;
    return oldest;
  }

  add(stranger: Stranger): void {
    this.all.add(stranger);
    this.silent.add(stranger);
  }

  delete(stranger: Stranger): boolean {
    this.silent.delete(stranger);
    return this.all.delete(stranger);
  }
}

/** One connection on its way in: silent, then speaking, then proven, then introduced. */
export class Stranger {
  /** Why this side ended the connection, if it did. */
  reason: MeshError | undefined;
  /** Kept by Strangers. */
  ticks = 0;
  isSilent = true;

  constructor(
    readonly socket: Socket,
    /** By `sourceOf`. */
    readonly source: string,
    private readonly strangers: Strangers,
  ) {}

  /** Its first bytes are here. */
  heard(): void {
    this.isSilent = false;
    this.strangers.heard(this);
  }

  /** It has proved the key: it counts against no quota any more, but its time still runs. */
  proven(): void {
    this.isSilent = false;
    this.strangers.uncount(this);
  }

  /** It has introduced itself, or it is gone. */
  done(): void {
    this.strangers.remove(this);
  }

  end(reason: MeshError): void {
    this.reason ??= reason;
    this.socket.destroy();
    this.done();
  }
}

/**
 * Connections that have not introduced themselves. Whoever can reach the port can open them, so they are bounded: each
 * source has a quota of connections that have not proved the key, a newcomer beyond it takes the place of the oldest
 * (first of those that have been silent for a tick), and first bytes and introduction have their time. So connections
 * that prove nothing, silent or not, do not hold the quota; and as no member dials twice at once, members that share a
 * source have room for all of them.
 *
 * Time is counted in ticks of this process' own loop: a tick that comes late counts for one, and sockets are read once
 * more before a connection is ended, as its bytes may have arrived meanwhile.
 */
export class Strangers {
  readonly #perSource: number;
  readonly #tickMs: number;
  readonly #present = new Set<Stranger>();
  readonly #quotas = new Map<string, SourceQuota>();
  #counted = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param expected how many connections may well come from one source at once */
  constructor(expected: number, tickMs = HANDSHAKE_TICK_MS) {
    this.#perSource = expected + SPARE_HANDSHAKES;
    this.#tickMs = tickMs;
  }

  get size(): number {
    return this.#present.size;
  }

  /** Makes room where there is none, and counts the connection until it is done or closed. */
  admit(socket: Socket): Stranger {
    const source = sourceOf(socket.remoteAddress ?? '');
    const stranger = new Stranger(socket, source, this);
    const quota = this.#quotas.get(source);
    if (quota !== undefined && quota.size >= this.#perSource) endOneOf(quota);
    else if (this.#counted >= this.#perSource * STRANGER_SOURCES) endOneOf(this.#largest());
    this.#present.add(stranger);
    this.#quotaOf(source).add(stranger);
    this.#counted += 1;
    socket.once('close', () => this.remove(stranger));
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs);
    return stranger;
  }

  /** Ends all of them. */
  close(): void {
    for (const { socket } of this.#present) socket.destroy();
  }

  heard(stranger: Stranger): void {
    this.#quotas.get(stranger.source)?.silent.delete(stranger);
  }

  uncount(stranger: Stranger): void {
    const quota = this.#quotas.get(stranger.source);
    if (quota === undefined || !quota.delete(stranger)) return;
    this.#counted -= 1;
    if (quota.size === 0) this.#quotas.delete(stranger.source);
  }

  remove(stranger: Stranger): void {
    this.uncount(stranger);
    this.#present.delete(stranger);
    if (this.#present.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #quotaOf(source: string): SourceQuota {
    let quota = this.#quotas.get(source);
    if (quota === undefined) {
      quota = new SourceQuota();
      this.#quotas.set(source, quota);
    }
    return quota;
  }

  /** Of the source that has most; of several, the one that came first. */
  #largest(): SourceQuota {
    let largest = new SourceQuota();
    for (const quota of this.#quotas.values()) if (quota.size > largest.size) largest = quota;
    return largest;
  }

  #tick(): void {
    for (const stranger of this.#present) {
      stranger.ticks += 1;
      if (lateness(stranger) !== undefined) this.#endAfterRead(stranger);
    }
  }

  /** Timers run before sockets are read; the second immediate comes after a full read of them. */
  #endAfterRead(stranger: Stranger): void {
    setImmediate(() =>
      setImmediate(() => {
        // What arrived meanwhile may have let the connection in; then it belongs to somebody else.
        const reason = this.#present.has(stranger) ? lateness(stranger) : undefined;
        if (reason !== undefined) stranger.end(protocolError(reason));
      }),
    );
  }
}

function endOneOf(quota: SourceQuota): void {
  quota.leaving?.end(
    protocolError('too many connections have not proved the key, and it was the oldest of them'),
  );
}

/** What a connection has not done in its time. */
function lateness({ ticks, isSilent }: Stranger): string | undefined {
  if (ticks > HANDSHAKE_TICKS) return 'the connection did not introduce itself in time';
  return isSilent && ticks > FIRST_BYTES_TICKS ? 'the connection said nothing' : undefined;
}
