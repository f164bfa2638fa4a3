import {
  DIAL_BACKOFF_FACTOR,
  DIAL_BACKOFF_FIRST_MS,
  DIALS_AT_ONCE,
  DIALS_AT_ONCE_PER_PROCESS,
  REACH_PAUSE_MAX_MS,
} from '../constants.js';
import { Dialler } from '../dialler.js';
import type { MeshError } from '../errors.js';
import type { Hello } from '../hello.js';
import type { Introduced } from '../link.js';
import type { Security } from '../security.js';
import { DialSlots } from './dial-slots.js';
import type { RosterEntry } from './roster.js';

export interface RoutesContext {
  readonly id: number;
  readonly security: Security | undefined;
  /** A HELLO for the next attempt, with an epoch of its own. */
  hello(to: number): Hello;
  connected(introduced: Introduced): void;
  judge(hello: Hello): MeshError | undefined;
  /** An attempt has failed; another one follows. */
  failed(id: number, error: MeshError): void;
}

/** The attempts to reach one peer. */
interface Route {
  readonly entry: RosterEntry;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
  dialler: Dialler | undefined;
}

/** Of all members of this process. */
const slots = new DialSlots(DIALS_AT_ONCE_PER_PROCESS);
const ONE_ATTEMPT = { finalCodes: new Set<string>(), pauseMaxMs: 0 };

/**
 * Attempts to reach the peers that are not connected. Of each pair the member with the higher id connects, so that a pair does
 * not have two connections. A bounded number of attempts runs at once, as a member that joins has to reach all others.
 */
export class Routes {
  readonly #context: RoutesContext;
  readonly #routes = new Map<number, Route>();
  readonly #queue = new Set<Route>();
  #active = 0;
  #isRef = true;

  constructor(context: RoutesContext) {
    this.#context = context;
  }

  /** Peers that connect to this member. */
  get waiting(): RosterEntry[] {
    const { id } = this.#context;
    return [...this.#routes.values()].filter(({ entry }) => entry.id > id).map(({ entry }) => entry);
  }

  reach(entry: RosterEntry): void {
    this.forget(entry.id);
    const route: Route = { entry, pauseMs: DIAL_BACKOFF_FIRST_MS, timer: undefined, dialler: undefined };
    this.#routes.set(entry.id, route);
    if (entry.id > this.#context.id) return;
    this.#queue.add(route);
    this.#advance();
  }

  forget(id: number): void {
    const route = this.#routes.get(id);
    if (route === undefined) return;
    this.#routes.delete(id);
    this.#queue.delete(route);
    clearTimeout(route.timer);
    if (route.dialler === undefined) return;
    route.dialler.stop();
    this.#ended(route);
  }

  stop(): void {
    this.#queue.clear();
    for (const id of [...this.#routes.keys()]) this.forget(id);
    slots.forget(this.#advance);
  }

  ref(): void {
    this.#isRef = true;
    for (const { timer } of this.#routes.values()) timer?.ref();
  }

  unref(): void {
    this.#isRef = false;
    for (const { timer } of this.#routes.values()) timer?.unref();
  }

  readonly #advance = (): void => {
    for (const route of this.#queue) {
      if (this.#active >= DIALS_AT_ONCE || !slots.take(this.#advance)) return;
      this.#queue.delete(route);
      this.#active += 1;
      this.#attempt(route);
    }
  };

  #attempt(route: Route): void {
    const { id } = route.entry;
    const { security } = this.#context;
    const dialler = new Dialler(
      route.entry,
      this.#context.hello(id),
      security,
      {
        judge: (hello) => this.#context.judge(hello),
        connected: (introduced) => {
          this.#ended(route);
          this.#context.connected(introduced);
        },
        attemptFailed: (_member, error) => this.#failed(route, error),
        refused: (_member, error) => this.#failed(route, error),
      },
      ONE_ATTEMPT,
    );
    route.dialler = dialler;
    dialler.start();
  }

  #failed(route: Route, error: MeshError): void {
    route.dialler?.stop();
    this.#ended(route);
    const { id } = route.entry;
    // Jitter keeps many members from connecting to a late one at the same moments.
    const delayMs = route.pauseMs * (0.75 + Math.random() / 2);
    route.pauseMs = Math.min(route.pauseMs * DIAL_BACKOFF_FACTOR, REACH_PAUSE_MAX_MS);
    route.timer = setTimeout(() => {
      this.#queue.add(route);
      this.#advance();
    }, delayMs);
    if (!this.#isRef) route.timer.unref();
    this.#context.failed(id, error);
  }

  #ended(route: Route): void {
    if (route.dialler === undefined) return;
    route.dialler = undefined;
    this.#active -= 1;
    slots.release();
    this.#advance();
  }
}
