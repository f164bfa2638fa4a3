import type { Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { INQUIRY_TOPIC, type Suspicion, type Verdict } from './wire-messages.js';

/** A group at this node that answers questions about its failure. */
export interface VerdictSource {
  readonly nonce: string;
  /** The verdict; `null` while the group does not know of a failure other than that of `asker`. */
  verdictFor(asker: number): Promise<Verdict | Suspicion | null>;
}

const KEPT_VERDICTS = 256;

/** Answers neighbours that ask why a group failed, also after the group has ended here. */
export class Verdicts {
  /** Verdicts of groups that have ended, by nonce. */
  readonly #verdicts = new Map<string, Verdict>();
  readonly #sources = new Map<string, VerdictSource>();
  readonly #subscription: Subscription;

  constructor(mesh: Mesh) {
    this.#subscription = mesh.onRequest(INQUIRY_TOPIC, (from, body) => this.#answer(from, body));
  }

  add(source: VerdictSource): void {
    this.#sources.set(source.nonce, source);
  }

  remove({ nonce }: VerdictSource): void {
    this.#sources.delete(nonce);
  }

  /** Keeps a verdict for neighbours that ask after the group has ended. */
  remember(nonce: string, verdict: Verdict): void {
    this.#verdicts.set(nonce, verdict);
    if (this.#verdicts.size > KEPT_VERDICTS) this.#verdicts.delete(this.#verdicts.keys().next().value!);
  }

  close(): void {
    this.#subscription.close();
  }

  async #answer(from: number, body: unknown): Promise<Verdict | Suspicion | null> {
    const { nonce } = (body ?? {}) as { nonce?: string };
    const source = this.#sources.get(nonce as string);
    return source ? source.verdictFor(from) : (this.#verdicts.get(nonce as string) ?? null);
  }
}
