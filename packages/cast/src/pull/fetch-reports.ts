import { randomUUID } from 'node:crypto';
import type { FetcherLink } from './fetcher-link.js';
import type { FetchBegan, ServeEvent } from './serve-events.js';

const INTERVAL_MS = 1_000;

/** The events of one fetch at the server. */
export class FetchReports {
  readonly #began = performance.now();
  readonly #origin: { readonly fetchId: string; readonly from: string; readonly name: string };
  #totals = { files: 0, bytes: 0 };
  #storedBytes = 0;
  /** What is stored, once a second, where that has changed. */
  readonly #timer = setInterval(() => this.#reportProgress(), INTERVAL_MS);

  constructor(
    private readonly link: FetcherLink,
    name: string,
    private readonly report: (event: ServeEvent) => void,
  ) {
    this.#origin = { fetchId: randomUUID(), from: link.name, name };
  }

  /** The name has been read. */
  surveyed({ files, bytes }: { readonly files: number; readonly bytes: number }): void {
    this.#totals = { files, bytes };
  }

  began(facts: Pick<FetchBegan, 'pieces' | 'lacking' | 'fetchers' | 'encrypted'>): void {
    this.report({ type: 'began', ...this.#origin, ...this.#totals, ...facts });
  }

  /** No more progress is reported. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** The fetcher has everything, or has failed. */
  ended(): void {
    const { done, failure } = this.link;
    if (done) {
      const { files: storedFiles, bytes: storedBytes, problemCount } = done;
      const seconds = (performance.now() - this.#began) / 1000;
      const outcome = { storedFiles, storedBytes, problemCount, seconds };
      this.report({ type: 'complete', ...this.#origin, ...this.#totals, ...outcome });
    } else if (failure) {
      const { code, message } = failure;
      this.report({ type: 'failed', ...this.#origin, ...this.#totals, code, message });
    }
  }

  #reportProgress(): void {
    const { storedBytes } = this.link.progress;
    if (storedBytes === this.#storedBytes) return;
    this.#storedBytes = storedBytes;
    this.report({ type: 'progress', ...this.#origin, ...this.#totals, storedBytes });
  }
}
