import { Deferred, SilenceTimer, type Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { isServer } from '../cluster/messages.js';
import { ISOLATION_MS, ROLL_CALL_TICK_MS } from '../limits.js';

type Peers = Pick<Mesh, 'peers' | 'onMember'>;

function isConnected({ peers }: Peers): boolean {
  return [...peers.values()].some(({ id, state }) => isServer(id) && state === 'connected');
}

/** Resolves when a server is connected: a coordinator that no server reaches must not take the lead from others. */
export async function serverConnected(mesh: Peers, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (isConnected(mesh)) return;
  const found = new Deferred<void>();
  const subscription = mesh.onMember(() => {
    if (isConnected(mesh)) found.resolve();
  });
  const abort = (): void => found.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await found.promise;
  } finally {
    subscription.close();
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Whether the coordinator that leads is cut off from all servers while another one could lead. A pause of this process does not
 * count as time.
 */
export class Isolation {
  readonly #controller = new AbortController();
  readonly #subscription: Subscription;
  #timer: SilenceTimer | undefined;

  constructor(
    private readonly mesh: Peers,
    private readonly limitMs = ISOLATION_MS,
  ) {
    this.#subscription = mesh.onMember(() => this.#look());
    this.#look();
  }

  /** Aborted when no server was connected for a while: another coordinator should lead. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    this.#subscription.close();
    this.#timer?.stop();
    this.#timer = undefined;
  }

  #look(): void {
    if (isConnected(this.mesh) || !this.#hasStandby) {
      this.#timer?.stop();
      this.#timer = undefined;
    } else if (this.#timer === undefined) {
      const tickMs = Math.min(ROLL_CALL_TICK_MS, this.limitMs);
      this.#timer = new SilenceTimer(tickMs, this.limitMs, () => this.#controller.abort());
      this.#timer.unref();
    }
  }

  get #hasStandby(): boolean {
    return [...this.mesh.peers.values()].some(({ id, state }) => !isServer(id) && state !== 'left');
  }
}
