/**
 * Which member coordinates, as one member of the mesh knows it. A coordinator tells every member that is connected when its term
 * begins, and each member that joins later; a member that knows a later term says so:
 *
 *   coordinator ── tailwind.lead { term: 5 } ──▶ member
 *   coordinator ◀── tailwind.followed { term: 6 } ── member that has seen term 6
 */
import { type Subscription, subscription } from '@rdmc/common';
import { openRecord, readShape, whole } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import { TailwindError } from '../errors.js';
import { requireTerm } from './term-guard.js';

export const LEAD_TOPIC = 'tailwind.lead';
export const FOLLOWED_TOPIC = 'tailwind.followed';
export const leadMessage = openRecord({ term: whole(1) });

/** A coordinator: its member and the term in which it acts. */
export interface Lead {
  /** The member that coordinates. */
  readonly member: number;
  /** Rises with each coordinator over the same state. */
  readonly term: number;
}

type LeadMesh = Pick<Mesh, 'onMessage' | 'send'>;

const views = new WeakMap<LeadMesh, LeadView>();

/** What one member of a mesh knows of the coordinators: one object for all parts of it. */
export class LeadView {
  #lead: Lead | undefined;
  readonly #listeners = new Set<(lead: Lead) => void>();
  /** By member that is asked: aborted when another one coordinates. */
  readonly #asked = new Map<number, AbortController>();

  private constructor(mesh: LeadMesh) {
    mesh.onMessage(LEAD_TOPIC, (from, body) => {
      const { term } = readShape(leadMessage, body);
      if (term < this.highest) mesh.send(from, FOLLOWED_TOPIC, { term: this.highest });
      else this.announced({ member: from, term });
    });
  }

  /** The view of this mesh, from its first use until the mesh is closed. */
  static of(mesh: LeadMesh): LeadView {
    let view = views.get(mesh);
    if (view === undefined) {
      view = new LeadView(mesh);
      views.set(mesh, view);
    }
    return view;
  }

  /** The coordinator with the highest term that was seen; undefined: none was. */
  get lead(): Lead | undefined {
    return this.#lead;
  }

  /** The highest term that was seen; 0: none. */
  get highest(): number {
    return this.#lead?.term ?? 0;
  }

  /** Called for each coordinator that begins, and again where the connection with it was made again. */
  onLead(listener: (lead: Lead) => void): Subscription {
    this.#listeners.add(listener);
    return subscription(() => this.#listeners.delete(listener));
  }

  /** A coordinator said this. @throws TailwindError ERR_RDMC_COORDINATOR_STALE: its term is lower than one that was seen */
  accept(lead: Lead): void {
    requireTerm(lead.term, this.highest);
    if (lead.term > this.highest) this.announced(lead);
  }

  /** Takes a coordinator whose term is not lower than the highest that was seen, and tells all listeners. */
  announced(lead: Lead): void {
    this.#lead = lead;
    for (const [member, controller] of this.#asked) {
      if (member === lead.member) continue;
      this.#asked.delete(member);
      controller.abort(superseded(member, lead));
    }
    for (const listener of [...this.#listeners]) listener(lead);
  }

  /**
   * The member to ask, and what is aborted when another one coordinates.
   * @param first the member that is asked while no coordinator is known
   */
  route(first: number): { readonly member: number; readonly signal: AbortSignal } {
    const member = this.#lead?.member ?? first;
    let controller = this.#asked.get(member);
    if (controller === undefined) {
      controller = new AbortController();
      this.#asked.set(member, controller);
    }
    return { member, signal: controller.signal };
  }
}

function superseded(member: number, lead: Lead): TailwindError {
  return new TailwindError(
    'ERR_RDMC_COORDINATOR_STALE',
    `Member ${lead.member} coordinates now, in term ${lead.term}, and not member ${member}: ask again`,
  );
}
