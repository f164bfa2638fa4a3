import type { Levels } from '@rdmc/common';
import type { Connections } from './connections.js';
import type { MeshError } from './errors.js';
import type { MeshFailure } from './frames.js';
import type { MemberEvents } from './live/member-events.js';
import type { Member } from './member.js';
import type { MemberFacts } from './member-facts.js';
import type { Messaging } from './messaging.js';
import type { MeshAttributes, ResolvedOptions } from './options.js';

/** Another member, as this member knows it. */
export interface MeshPeer {
  /** Id of the member. */
  readonly id: number;
  /**
   * Announced by the member's process when it joined. A member that is lost keeps them, until it is removed or another process
   * has its id. Empty: this member has not been connected with that process.
   */
  readonly attributes: MeshAttributes;
  /** That its process speaks; undefined: it is not connected. */
  readonly levels: Levels | undefined;
  /** Its address in the list. */
  readonly address: { readonly host: string; readonly port: number };
  /** Its current state. */
  readonly state: 'connected' | 'left' | 'failed';
  /** Of its process, where members come and go; else 0. */
  readonly incarnation: number;
}

/** One member's state, behind `Mesh`: with a fixed list of members, or with members that come and go. */
export interface MeshCore {
  readonly options: ResolvedOptions;
  readonly messaging: Messaging;
  readonly connections: Connections;
  readonly failures: MemberFacts<MeshFailure>;
  readonly leaves: MemberFacts<number>;
  readonly events: MemberEvents;
  /** All members, this one included, sorted by id. */
  readonly members: readonly Member[];
  readonly peers: ReadonlyMap<number, MeshPeer>;
  /** 0: the list of members is fixed. */
  readonly incarnation: number;
  /** Called when this member has to stop. */
  onEnd: ((error: MeshError) => void) | undefined;
  /** Why this member had to stop; undefined: it did not have to. */
  readonly stopped: MeshError | undefined;
  /** Resolves when this member has joined. */
  form(): Promise<void>;
  assertOpen(): void;
  reportFailure(member: number, reason: string): void;
  remove(member: number): void;
  close(): Promise<void>;
  ref(): void;
  unref(): void;
}
