import type { FetcherLink } from './fetcher-link.js';
import type { FetchServing, ServeEvent } from './serve-events.js';

const INTERVAL_MS = 1_000;

/** Reports what a fetcher has stored, once a second, where that has changed. Returns a function that ends this. */
export function reportProgress(
  link: FetcherLink,
  facts: () => Omit<FetchServing, 'type' | 'storedBytes'>,
  report: (event: ServeEvent) => void,
): () => void {
  let reported = 0;
  const timer = setInterval(() => {
    const { storedBytes } = link.progress;
    if (storedBytes === reported) return;
    reported = storedBytes;
    report({ type: 'progress', ...facts(), storedBytes });
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}
