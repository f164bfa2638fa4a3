import type { Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { MAX_WAITING_CREATIONS } from './constants.js';
import { GroupError } from './errors.js';
import {
  BLAME_TOPIC,
  type CreateMessage,
  parseMessage,
  TOPIC,
  type Verdict,
  type WireMessage,
} from './wire-messages.js';

/** A use of a group id at this node. */
export interface Participant {
  readonly nonce: string;
  /** Takes a message of another member. False: a creation that is not for this use of the id. */
  take(from: number, message: WireMessage): boolean;
  /** What it knows about its failure; `null` while it knows nothing that concerns `asker`. */
  verdictFor(asker: number): Promise<Verdict | null>;
}

const KEPT_VERDICTS = 256;

/** Leads messages about groups to the group they are about, and keeps creations this node has not joined yet. */
export class GroupDirectory {
  readonly #participants = new Map<number, Participant>();
  /** Creations by group id and member. */
  readonly #waiting = new Map<number, Map<number, CreateMessage>>();
  readonly #waitingPerMember = new Map<number, number>();
  /** Why groups failed that are gone, by nonce: neighbours may ask only later. */
  readonly #verdicts = new Map<string, Verdict>();
  readonly #subscriptions: Subscription[];

  constructor(private readonly mesh: Mesh) {
    this.#subscriptions = [
      mesh.onMessage(TOPIC, (from, body) => this.#take(from, body)),
      mesh.onRequest(BLAME_TOPIC, (from, body) => this.#answer(from, body)),
    ];
  }

  /** Takes an id, and gets the creations that wait for it. @throws GroupError ERR_RDMC_GROUP_EXISTS */
  register(id: number, participant: Participant): ReadonlyMap<number, CreateMessage> {
    if (this.#participants.has(id)) {
      throw new GroupError(
        'ERR_RDMC_GROUP_EXISTS',
        `Group ${id} is open at this node; close it first, or take another id`,
      );
    }
    this.#participants.set(id, participant);
    const waiting = this.#waiting.get(id) ?? new Map<number, CreateMessage>();
    for (const from of waiting.keys()) this.#count(from, -1);
    this.#waiting.delete(id);
    return waiting;
  }

  unregister(id: number, participant: Participant): void {
    if (this.#participants.get(id) === participant) this.#participants.delete(id);
  }

  /** For neighbours that ask when the group is gone. */
  remember(nonce: string, verdict: Verdict): void {
    this.#verdicts.set(nonce, verdict);
    if (this.#verdicts.size > KEPT_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!);
  }

  /** Sends to a member, if it is still there: of its end everybody hears otherwise. */
  send(to: number, message: WireMessage): void {
    if (this.mesh.peers.get(to)?.state !== 'connected') return;
    try {
      this.mesh.send(to, TOPIC, message);
    } catch (error) {
      // The mesh may close, and a member be lost, between the look and the call.
      const code = (error as { code?: unknown }).code;
      if (code === 'ERR_RDMC_MESH_CLOSED' || code === 'ERR_RDMC_MESH_MEMBER_LOST') return;
      if (code === 'ERR_RDMC_MESH_MEMBER_LEFT') return;
      throw error;
    }
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
    this.#waiting.clear();
  }

  #take(from: number, body: unknown): void {
    const message = parseMessage(body);
    if (!message) return;
    const taken = this.#participants.get(message.group)?.take(from, message) ?? false;
    if (taken) return;
    if (message.type === 'create') this.#keep(from, message);
    else if (message.type === 'abandon') this.#drop(from, message.group, message.nonce);
  }

  #keep(from: number, message: CreateMessage): void {
    const waiting = this.#waiting.get(message.group) ?? new Map<number, CreateMessage>();
    if (!waiting.has(from)) {
      if ((this.#waitingPerMember.get(from) ?? 0) >= MAX_WAITING_CREATIONS) return;
      this.#count(from, 1);
    }
    waiting.set(from, message);
    this.#waiting.set(message.group, waiting);
  }

  #drop(from: number, group: number, nonce: string): void {
    const waiting = this.#waiting.get(group);
    if (waiting?.get(from)?.nonce !== nonce) return;
    waiting.delete(from);
    this.#count(from, -1);
    if (waiting.size === 0) this.#waiting.delete(group);
  }

  #count(from: number, by: number): void {
    this.#waitingPerMember.set(from, (this.#waitingPerMember.get(from) ?? 0) + by);
  }

  async #answer(from: number, body: unknown): Promise<Verdict | null> {
    const { group, nonce } = (body ?? {}) as { group?: number; nonce?: string };
    const participant = this.#participants.get(group as number);
    if (participant && participant.nonce === nonce) return participant.verdictFor(from);
    return this.#verdicts.get(nonce as string) ?? null;
  }
}
