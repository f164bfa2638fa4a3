import type { QueuePair } from '@rdmc/verbs';
import type { CompletionHandler, Protocol } from './protocol.js';

/** One protocol in a host. */
export class HostedProtocol {
  protocol: Protocol | undefined;
  /** The number of its attached queue pairs. */
  attached = 0;
  #failure: { readonly error: unknown } | undefined;
  #hasFailed!: () => void;
  /** Resolves when it throws; else it stays pending. */
  readonly failed = new Promise<void>((resolve) => {
    this.#hasFailed = resolve;
  });

  constructor(
    /** From 1, in the order of the application's list. */
    readonly number: number,
    readonly name: string,
  ) {}

  /** The error that it threw; undefined while it runs. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#hasFailed();
  }

  /** Whether only a solicited completion allows it to progress. */
  get waitsForSolicited(): boolean {
    if (this.failure) return true;
    return this.protocol?.waitsForSolicited?.() ?? this.attached === 0;
  }
}

/** The protocol and the handler of a queue pair's completions. */
export interface Attachment {
  readonly queuePair: QueuePair;
  readonly handler: CompletionHandler;
  readonly owner: HostedProtocol;
}
