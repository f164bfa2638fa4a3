import type { Socket } from 'node:net';
import {
  FIRST_BYTES_TICKS,
  HANDSHAKE_TICK_MS,
  HANDSHAKE_TICKS,
  PENDING_SOURCES,
  SPARE_PENDING_CONNECTIONS,
} from './constants.js';
import { protocolError } from './errors.js';
import { PendingConnection, type PendingOwner } from './pending-connection.js';
import { sourceOf } from './source-of.js';
import { SourceQuota } from './source-quota.js';

/**
 * Accepted connections whose handshake is not complete. Any process that reaches the port can open them, so they are bounded: each
 * source has a quota of connections that have not proved the key, a newcomer beyond it takes the place of the oldest
 * (first of those that have been silent for a tick), and the time of the first bytes and of the handshake is bounded. So connections
 * without a proof, silent or not, do not hold the quota; and as a member does not connect twice at once, members that share a
 * source have room for all of them.
 *
 * Time is counted in ticks of this process' own loop: a tick that comes late counts for one, and sockets are read once
 * more before a connection is ended, as its bytes may have arrived meanwhile.
 */
export class PendingConnections implements PendingOwner {
  readonly #perSource: number;
  readonly #tickMs: number;
  readonly #present = new Set<PendingConnection>();
  readonly #quotas = new Map<string, SourceQuota>();
  #counted = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param expected how many connections are expected from one source at once */
  constructor(expected: number, tickMs = HANDSHAKE_TICK_MS) {
    this.#perSource = expected + SPARE_PENDING_CONNECTIONS;
    this.#tickMs = tickMs;
  }

  get size(): number {
    return this.#present.size;
  }

  /** Counts the connection until it is done or closed; where the quota is full, ends another one. */
  admit(socket: Socket): PendingConnection {
    const source = sourceOf(socket.remoteAddress ?? '');
    const connection = new PendingConnection(socket, source, this);
    const quota = this.#quotas.get(source);
    if (quota !== undefined && quota.size >= this.#perSource) endOneOf(quota);
    else if (this.#counted >= this.#perSource * PENDING_SOURCES) endOneOf(this.#largest());
    this.#present.add(connection);
    this.#quotaOf(source).add(connection);
    this.#counted += 1;
    socket.once('close', () => this.remove(connection));
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs);
    return connection;
  }

  /** Ends all of them. */
  close(): void {
    for (const { socket } of this.#present) socket.destroy();
  }

  heard(connection: PendingConnection): void {
    this.#quotas.get(connection.source)?.silent.delete(connection);
  }

  uncount(connection: PendingConnection): void {
    const quota = this.#quotas.get(connection.source);
    if (quota === undefined || !quota.delete(connection)) return;
    this.#counted -= 1;
    if (quota.size === 0) this.#quotas.delete(connection.source);
  }

  remove(connection: PendingConnection): void {
    this.uncount(connection);
    this.#present.delete(connection);
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

  /** The quota of the source with most connections; of several, the one that came first. */
  #largest(): SourceQuota {
    let largest = new SourceQuota();
    for (const quota of this.#quotas.values()) if (quota.size > largest.size) largest = quota;
    return largest;
  }

  #tick(): void {
    for (const connection of this.#present) {
      connection.ticks += 1;
      if (lateness(connection) !== undefined) this.#endAfterRead(connection);
    }
  }

  /** Timers run before sockets are read; the second immediate comes after a full read of them. */
  #endAfterRead(connection: PendingConnection): void {
    setImmediate(() =>
      setImmediate(() => {
        // The bytes that arrived meanwhile may have completed the handshake; then the connection is not pending any more.
        const reason = this.#present.has(connection) ? lateness(connection) : undefined;
        if (reason !== undefined) connection.end(protocolError(reason));
      }),
    );
  }
}

function endOneOf(quota: SourceQuota): void {
  quota.leaving?.end(
    protocolError('too many connections have not proved the key, and it was the oldest of them'),
  );
}

/** Why a connection is too late; undefined: it is not. */
function lateness({ ticks, isSilent }: PendingConnection): string | undefined {
  if (ticks > HANDSHAKE_TICKS) return 'the connection did not introduce itself in time';
  return isSilent && ticks > FIRST_BYTES_TICKS ? 'the connection sent nothing' : undefined;
}
