import type { Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { BLAME_TOPIC, type Verdict } from './wire-messages.js';

/** A group at this node that neighbours may ask about its failure. */
export interface Witness {
  readonly nonce: string;
  /** What it knows about its failure; `null` while it knows nothing that concerns `asker`. */
  verdictFor(asker: number): Promise<Verdict | null>;
}

const KEPT_VERDICTS = 256;

/** Answers neighbours that ask why a group failed, also when the group is gone here. */
export class Verdicts {
  /** Of groups that are gone, by nonce. */
  readonly #verdicts = new Map<string, Verdict>();
  readonly #witnesses = new Map<string, Witness>();
  readonly #subscription: Subscription;

  constructor(mesh: Mesh) {
    this.#subscription = mesh.onRequest(BLAME_TOPIC, (from, body) => this.#answer(from, body));
  }

  add(witness: Witness): void {
    this.#witnesses.set(witness.nonce, witness);
  }

  remove({ nonce }: Witness): void {
    this.#witnesses.delete(nonce);
  }

  /** For neighbours that ask when the group is gone. */
  remember(nonce: string, verdict: Verdict): void {
    this.#verdicts.set(nonce, verdict);
    if (this.#verdicts.size > KEPT_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!);
  }

  close(): void {
    this.#subscription.close();
  }

  async #answer(from: number, body: unknown): Promise<Verdict | null> {
    const { nonce } = (body ?? {}) as { nonce?: string };
    const witness = this.#witnesses.get(nonce as string);
    return witness ? witness.verdictFor(from) : (this.#verdicts.get(nonce as string) ?? null);
  }
}
