import type { Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { HiPowerError } from './errors.js';
import { type OfferMessage, parseMessage, recipientOf, TOPIC, type WireMessage } from './wire-messages.js';

/** A requester or responder that takes messages about its channel. */
export interface Participant {
  readonly role: 'requester' | 'responder';
  readonly channel: string;
  take(from: number, message: WireMessage): void;
  peerLost(member: number, reason: string): void;
}

const MAX_KEPT_OFFERS = 4096;

/** Leads messages to the channel they are about, and keeps offers whose responder does not exist yet. */
export class Directory {
  readonly #participants = new Map<string, Participant>();
  /** The latest offer per channel and member. */
  readonly #offers = new Map<string, { readonly from: number; readonly offer: OfferMessage }>();
  readonly #subscriptions: Subscription[];

  constructor(private readonly mesh: Mesh) {
    this.#subscriptions = [
      mesh.onMessage(TOPIC, (from, body) => this.#take(from, body)),
      mesh.onFailure(({ member, reason }) => this.#lost(member, reason)),
      mesh.onLeave((member) => this.#lost(member, 'it left the mesh')),
    ];
  }

  /** @throws HiPowerError ERR_RDMC_HIPOWER_CHANNEL_EXISTS */
  register(participant: Participant): void {
    const key = keyOf(participant.role, participant.channel);
    if (this.#participants.has(key)) {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_CHANNEL_EXISTS',
        `This node has a ${participant.role} '${participant.channel}' already; close it first, or take another name`,
      );
    }
    this.#participants.set(key, participant);
  }

  /** Gives a responder the offers that came before it. */
  replay(participant: Participant): void {
    for (const [key, { from, offer }] of this.#offers) {
      if (offer.channel !== participant.channel) continue;
      this.#offers.delete(key);
      participant.take(from, offer);
    }
  }

  unregister(participant: Participant): void {
    const key = keyOf(participant.role, participant.channel);
    if (this.#participants.get(key) === participant) this.#participants.delete(key);
  }

  /** Sends to a member, if it is still there: of its end everybody hears otherwise. */
  send(to: number, message: WireMessage): void {
    if (this.mesh.peers.get(to)?.state !== 'connected') return;
    try {
      this.mesh.send(to, TOPIC, message);
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      const gone = ['ERR_RDMC_MESH_CLOSED', 'ERR_RDMC_MESH_MEMBER_LOST', 'ERR_RDMC_MESH_MEMBER_LEFT'];
      if (!gone.includes(code as string)) throw error;
    }
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
    this.#offers.clear();
  }

  #take(from: number, body: unknown): void {
    const message = parseMessage(body);
    if (!message) return;
    const participant = this.#participants.get(keyOf(recipientOf(message), message.channel));
    if (participant) participant.take(from, message);
    else this.#keep(from, message);
  }

  #keep(from: number, message: WireMessage): void {
    const key = `${from} ${message.channel}`;
    if (message.type === 'closed' && this.#offers.get(key)?.offer.session === message.session) {
      this.#offers.delete(key);
    }
    if (message.type !== 'offer') return;
    if (this.#offers.size < MAX_KEPT_OFFERS) this.#offers.set(key, { from, offer: message });
  }

  #lost(member: number, reason: string): void {
    for (const [key, { from }] of this.#offers) if (from === member) this.#offers.delete(key);
    for (const participant of [...this.#participants.values()]) participant.peerLost(member, reason);
  }
}

function keyOf(role: string, channel: string): string {
  return `${role} ${channel}`;
}
