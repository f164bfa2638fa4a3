import { Deadline } from '@rdmc/common';
import type { Connections } from '../connections.js';
import { type MeshError, throwIfAborted } from '../errors.js';
import type { Link } from '../link.js';
import type { Listener } from '../listener.js';
import type { Member } from '../member.js';
import type { MeshCore, MeshPeer } from '../mesh-core.js';
import type { Messaging } from '../messaging.js';
import type { ResolvedLiveOptions } from '../options.js';
import { LiveMember, type LiveTimes } from './live-member.js';
import type { Membership } from './membership.js';

/** Replaced or observed by tests. Not part of the package's interface. */
export interface LiveInternals extends LiveTimes {
  readonly observeLive?: (core: LiveCore) => void;
}

/** One member of a mesh whose members come and go, as `Mesh` uses it. */
export class LiveCore implements MeshCore {
  onEnd: ((error: MeshError) => void) | undefined;
  stopped: MeshError | undefined;
  readonly #member: LiveMember;
  #closing: Promise<void> | undefined;

  constructor(
    readonly options: ResolvedLiveOptions,
    internals: LiveInternals = {},
  ) {
    this.#member = new LiveMember(options, internals);
    this.#member.onStopped = (error) => this.#stopped(error);
    internals.observeLive?.(this);
  }

  get links(): ReadonlyMap<number, Link> {
    return this.#member.links;
  }

  /** Undefined: this member has no incarnation yet. */
  get membership(): Membership | undefined {
    return this.#member.membership;
  }

  get messaging(): Messaging {
    return this.#member.messaging;
  }

  get connections(): Connections {
    return this.#member.connections;
  }

  get listener(): Listener {
    return this.#member.listener;
  }

  get failures() {
    return this.#member.announcements.failures;
  }

  get leaves() {
    return this.#member.announcements.leaves;
  }

  get events() {
    return this.#member.announcements.events;
  }

  get peers(): ReadonlyMap<number, MeshPeer> {
    return this.#member.views.peers;
  }

  get incarnation(): number {
    return this.membership?.self.incarnation ?? 0;
  }

  get members(): readonly Member[] {
    const entries = [...(this.membership?.roster.entries.values() ?? [])];
    const members = entries.map(({ id, host, port }) => Object.freeze({ id, host, port }));
    return Object.freeze(members.sort((one, other) => one.id - other.id));
  }

  /** Resolves when this member is admitted, and connected to the members of the roster that it got, if they answer. */
  async form(): Promise<void> {
    const { signal, timeoutMs, id } = this.options;
    const { progress, entrance, listener, heartbeats } = this.#member;
    const what = `joining as member ${id}`;
    const late = (): MeshError => progress.timeout(this.options, entrance.lastError);
    const deadline = new Deadline({ timeoutMs, late, signal, what }, (error) => progress.fail(error));
    try {
      throwIfAborted(what, signal);
      await listener.listen();
      heartbeats.start();
      entrance.enter().catch((error: unknown) => progress.fail(error));
      await progress.done;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      deadline.clear();
    }
  }

  assertOpen(): void {
    this.#member.assertOpen();
  }

  /** Closes the connection with the member. It stays a member, and is reached for again. The others are not told. */
  reportFailure(member: number, reason: string): void {
    const link = this.links.get(member);
    if (link === undefined) return;
    this.#member.peerLinks.close(link, { code: 'ERR_RDMC_MESH_MEMBER_REPORTED', reason });
  }

  remove(member: number): void {
    this.#member.announcements.step(() => this.membership?.remove(member));
  }

  close(): Promise<void> {
    this.#closing ??= this.#member.shutDown();
    return this.#closing;
  }

  ref(): void {
    for (const each of this.#keepers()) each.ref();
  }

  unref(): void {
    for (const each of this.#keepers()) each.unref();
  }

  #keepers(): { ref(): void; unref(): void }[] {
    const { listener, heartbeats, routes, peerLinks } = this.#member;
    return [listener, heartbeats, routes, peerLinks];
  }

  #stopped(error: MeshError): void {
    this.stopped = error;
    // After the announcements, also where this is a part of a larger step.
    queueMicrotask(() => {
      this.onEnd?.(error);
      void this.close();
    });
  }
}
