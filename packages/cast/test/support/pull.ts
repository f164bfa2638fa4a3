import {
  type Fetch,
  type FetchOptions,
  type FileServer,
  fetchFiles,
  type ServeEvent,
  type ServeOptions,
  serveFiles,
} from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { onTestFinished } from 'vitest';

export const KEY = 'a key of more than sixteen bytes';

/** A server in this process, and the events that it has reported. */
export async function startServer(directory: string, options: Partial<ServeOptions> = {}) {
  const server = await serveFiles({ directory, host: '127.0.0.1', port: 0, device: 'soft', ...options });
  const events: ServeEvent[] = [];
  const watchers = new Set<() => void>();
  void (async () => {
    for await (const event of server) {
      events.push(event);
      for (const look of watchers) look();
    }
  })();
  onTestFinished(() => server.close());
  /** Resolves with the events of a type when there are so many. */
  const several = <T extends ServeEvent['type']>(
    type: T,
    count: number,
  ): Promise<Extract<ServeEvent, { type: T }>[]> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = events.filter((event) => event.type === type);
        if (found.length < count) return;
        watchers.delete(look);
        resolve(found as Extract<ServeEvent, { type: T }>[]);
      };
      watchers.add(look);
      look();
    });
  return { server, events, several };
}

/** A fetch into a directory of its own. */
export function startFetch(
  server: FileServer,
  options: Partial<FetchOptions> = {},
): { fetch: Fetch; directory: string } {
  const directory = options.directory ?? temporaryDirectory();
  const fetch = fetchFiles({ from: server.address, device: 'soft', ...options, directory });
  onTestFinished(() => fetch[Symbol.asyncDispose]());
  return { fetch, directory };
}
