import type { QueuePair } from '@rdmc/verbs';
import type { CompletionHandler, Protocol } from './protocol.js';

/** One protocol in a host. */
export class HostedProtocol {
  protocol: Protocol | undefined;
  /** Queue pairs whose completions it takes. */
  attached = 0;
  #failure: { readonly error: unknown } | undefined;
  #hasFailed!: () => void;
  /** Resolves when it throws; pending for ever where it does not. */
  readonly failed = new Promise<void>((resolve) => {
    this.#hasFailed = resolve;
  });

  constructor(
    /** From 1, in the order in which the application named them. */
    readonly number: number,
    readonly name: string,
  ) {}

  /** What it threw; undefined while it runs. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#hasFailed();
  }

  /** Whether no completion but a solicited one lets it go on. */
  get waitsForSolicited(): boolean {
    if (this.failure) return true;
    return this.protocol?.waitsForSolicited?.() ?? this.attached === 0;
  }
}

/** Who takes the completions of a queue pair. */
export interface Attachment {
  readonly queuePair: QueuePair;
  readonly handler: CompletionHandler;
  readonly owner: HostedProtocol;
}
