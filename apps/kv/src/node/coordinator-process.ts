import { anySignal, Deferred, onAbort, pause, type Subscription } from '@rdmc/common';
import { Mesh } from '@rdmc/mesh';
import { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { COORDINATOR, standbyId, Topic } from '../cluster/messages.js';
import type { PlacementEvents } from '../cluster/placement-events.js';
import { codeOf, KvError, messageOf } from '../errors.js';
import { SEAT_RETRY_MS } from '../limits.js';
import { isPassing } from './ask-surely.js';
import type { MemberOptions } from './cluster-options.js';
import { CoordinatorSeat, type SeatOptions } from './coordinator-seat.js';
import { type CoordinatorState, type CoordinatorStore, openStore } from './coordinator-store.js';
import { Isolation, serverConnected } from './isolation.js';
import { placeOf } from './join-cluster.js';

/** The options of `KvCoordinator.start`. */
export interface CoordinatorOptions extends MemberOptions, CoordinatorState, SeatOptions {
  /**
   * The number of a standby, from 1 up, which needs `listen` and `etcd`: it joins the mesh and waits for the lead. Default: this is
   * the coordinator in the list of members.
   */
  readonly standby?: number | undefined;
}

/** The events of a coordinator. */
export interface CoordinatorEvents extends PlacementEvents {
  /** It coordinates, in this term. */
  leading?(term: number): void;
  /** Another coordinator leads; this one waits for the lead. `reason`: why it lost the lead, if it had it. */
  waiting?(event: { reason: string | undefined }): void;
}

/**
 * A coordinator of a cluster. It keeps the servers' logs and slots in a file or in etcd, and does not see commands or values. With
 * etcd there may be several, of which one leads; the others are in the mesh, and wait. One that loses the lead waits again.
 */
export class KvCoordinator {
  readonly #end = new AbortController();
  readonly #failed = new AbortController();
  /** Resolves when it leads for the first time, or waits for another one. */
  readonly #begun = new Deferred<void>();
  readonly #subscriptions: Subscription[];
  #seat: CoordinatorSeat | undefined;
  #work: Promise<void> = Promise.resolve();

  private constructor(
    private readonly mesh: Mesh,
    private readonly options: CoordinatorOptions,
    private readonly events: CoordinatorEvents,
  ) {
    // The leading coordinator's messages to all members are for servers. The client notes its term.
    const client = new CoordinatorClient(mesh, COORDINATOR);
    this.#subscriptions = Object.values(Topic).map((topic) => client.onMessage(topic, () => {}));
  }

  /**
   * Resolves when it coordinates: at the first start of a cluster when all servers have joined, later at once, since servers
   * run without it, and find it again. With etcd also when it waits for another one that leads.
   * @throws KvError ERR_RDMC_KV_JOIN_TIMEOUT, ERR_RDMC_KV_INVALID_OPTION; MeshError, TailwindError
   */
  static async start(options: CoordinatorOptions, events: CoordinatorEvents = {}): Promise<KvCoordinator> {
    const { standby, etcd, listen } = options;
    if (standby !== undefined && (etcd === undefined || listen === undefined)) throw needsEtcd();
    // A standby must be in the mesh before it leads. The coordinator of the list begins the mesh.
    const store = standby === undefined ? await firstStore(options) : undefined;
    try {
      const mesh = await Mesh.join(
        placeOf(standby === undefined ? COORDINATOR : standbyId(standby), options),
      );
      const made = new KvCoordinator(mesh, options, events);
      try {
        await made.#begin(store);
        return made;
      } catch (error) {
        await made.close();
        throw error;
      }
    } catch (error) {
      await store?.close();
      throw error;
    }
  }

  /** The term in which it leads, which rises with each start and each change of the lead over the same state; 0: it waits. */
  get term(): number {
    return this.#seat?.term ?? 0;
  }

  /** Aborted, with the reason, when it can neither lead nor wait: the state was written by another version, for example. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  /**
   * Closes the coordinator and its store. The mesh's connections end with the process: servers would forget a member that
   * leaves, and they must call the one that follows at this address.
   */
  async end(): Promise<void> {
    this.#end.abort(new KvError('ERR_RDMC_KV_CLOSED', 'this coordinator was closed'));
    await this.#work;
    for (const each of this.#subscriptions) each.close();
  }

  /** As `end`, and leaves the mesh: for the end of the whole cluster. */
  async close(): Promise<void> {
    await this.end();
    await this.mesh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(store: CoordinatorStore | undefined): Promise<void> {
    this.#work = this.#run(store);
    await this.#begun.promise;
  }

  async #run(first: CoordinatorStore | undefined): Promise<void> {
    try {
      let store = first;
      let reason: string | undefined;
      while (!this.#end.signal.aborted) {
        try {
          store ??= await this.#wait(reason);
          reason = await this.#lead(store);
        } catch (error) {
          reason = await this.#retried(error);
        }
        store = undefined;
      }
    } catch (error) {
      this.#begun.reject(error);
      if (!this.#end.signal.aborted) this.#failed.abort(error);
    }
  }

  /** Until this one leads in the state. */
  async #wait(reason: string | undefined): Promise<CoordinatorStore> {
    const { signal } = this.#end;
    this.events.waiting?.({ reason });
    this.#begun.resolve();
    await serverConnected(this.mesh, signal);
    const onSilence = (silence: string): void => this.#report('ERR_RDMC_STATE_UNREACHABLE', silence);
    return openStore(this.options, { waitMs: Number.POSITIVE_INFINITY, signal, onSilence });
  }

  /** Until another one may lead, or this one ends. Returns why. */
  async #lead(store: CoordinatorStore): Promise<string> {
    const { mesh, options, events } = this;
    const seat = await CoordinatorSeat.take(mesh, store, options, events);
    this.#seat = seat;
    events.leading?.(seat.term);
    this.#begun.resolve();
    const isolation = options.etcd === undefined ? undefined : new Isolation(mesh);
    const ends = [this.#end.signal, seat.lost, isolation?.signal].filter((each) => each !== undefined);
    const over = new Deferred<void>();
    const stop = onAbort(anySignal(...ends), () => over.resolve());
    await over.promise;
    stop();
    isolation?.close();
    this.#seat = undefined;
    await seat.close();
    return seat.lost?.aborted ? messageOf(seat.lost.reason) : 'no server was connected with it';
  }

  /** Of a term that could not begin: etcd did not answer, or the lead was lost meanwhile. @throws other errors */
  async #retried(error: unknown): Promise<string> {
    const { signal } = this.#end;
    if (signal.aborted || this.options.etcd === undefined || !isPassing(error)) throw error;
    this.#report(codeOf(error), messageOf(error));
    await pause(SEAT_RETRY_MS, signal);
    return messageOf(error);
  }

  #report(code: string, reason: string): void {
    this.events.failed?.({ logId: undefined, server: undefined, code, reason });
  }
}

/** The store of the coordinator in the list; undefined: another coordinator leads in etcd, and this one waits. */
async function firstStore(options: CoordinatorOptions): Promise<CoordinatorStore | undefined> {
  try {
    return await openStore(options);
  } catch (error) {
    if (options.etcd !== undefined && codeOf(error) === 'ERR_RDMC_STATE_LOCKED') return undefined;
    throw error;
  }
}

function needsEtcd(): KvError {
  return new KvError(
    'ERR_RDMC_KV_INVALID_OPTION',
    'a standby needs the state of the coordinator that it follows, and an address of its own: give --etcd and --listen',
  );
}
