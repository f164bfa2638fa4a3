import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fetch, type FetchProgress, fetchKey } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { MIB } from '../src/constants.js';
import { KEY, startFetch, startServer } from './support/pull.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

const LONG_MS = 3_600_000;

type Several = Awaited<ReturnType<typeof startServer>>['several'];

/**
 * Resolves when the fetch serves on and the server has counted `complete` fetches as complete. The server hears of the end later than
 * the fetch. Until then a further fetcher joins the swarm of the first one.
 */
async function serving(fetch: Fetch, several: Several, complete = 1): Promise<void> {
  await servesOn(fetch);
  await several('complete', complete);
}

async function servesOn(fetch: Fetch): Promise<void> {
  for await (const { phase } of fetch as AsyncIterable<FetchProgress>) if (phase === 'serving') return;
  throw new Error('the fetch has ended');
}

function served(): string {
  const from = temporaryDirectory();
  write(from, 'model/large', seededBytes(5 * MIB + 3, 1));
  write(from, 'model/small', 'small');
  write(from, 'model/empty', '');
  return from;
}

describe('a fetcher that serves on', () => {
  it('sends to later fetchers in the place of the server, encrypted, with a key for fetching', async () => {
    const from = served();
    const { server, events, several } = await startServer(from, { key: KEY });
    const key = fetchKey(KEY);
    const first = startFetch(server, { name: 'model', key, serveOnMs: LONG_MS });
    await serving(first.fetch, several);
    const { fetch, directory } = startFetch(server, { name: 'model', key });
    expect(await fetch.finished).toMatchObject({ files: 3, encrypted: true, problemCount: 0 });
    expectSameTree(directory, from);
    await several('complete', 2);
    const sent = events.filter((event) => event.type === 'sent');
    // The server has sent every piece once.
    const own = sent.filter(({ leader }) => leader === undefined);
    expect(own.map(({ pieces, fetchers }) => [pieces, fetchers])).toEqual([[7, 1]]);
    expect(sent.length).toBeGreaterThan(1);
    // Its end is no failure.
    first.fetch.abort();
    expect(await first.fetch.finished).toMatchObject({ files: 3, problemCount: 0 });
  });

  it('may have had everything before; when it is gone, the server sends itself', async () => {
    const from = served();
    const { server, events, several } = await startServer(from);
    const { directory, fetch } = startFetch(server);
    await fetch.finished;
    const again = startFetch(server, { directory, serveOnMs: LONG_MS });
    await serving(again.fetch, several, 2);
    await startFetch(server).fetch.finished;
    again.fetch.abort();
    expect(await again.fetch.finished).toMatchObject({ files: 0, unchangedFiles: 3 });
    await startFetch(server).fetch.finished;
    // The server may have asked it once more before it saw that it is gone.
    const sent = events.filter((event) => event.type === 'sent' && event.pieces > 0);
    expect(sent.map((event) => event.type === 'sent' && event.leader !== undefined)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('is let go where the server has something else meanwhile: a later fetcher gets that', async () => {
    const from = served();
    const { server, events, several } = await startServer(from);
    const first = startFetch(server, { serveOnMs: LONG_MS });
    await serving(first.fetch, several);
    write(from, 'model/new', 'new');
    const { fetch, directory } = startFetch(server);
    expect(await fetch.finished).toMatchObject({ files: 4 });
    expectSameTree(directory, from);
    expect(await first.fetch.finished).toMatchObject({ files: 3, problemCount: 0 });
    expect(events.filter((event) => event.type === 'sent' && event.leader !== undefined)).toEqual([]);
  });

  it('with altered bytes is found by the hashes: it is let go, and the pieces come from the server', async () => {
    const from = served();
    const { server, events, several } = await startServer(from);
    const liar = startFetch(server, { serveOnMs: LONG_MS });
    await serving(liar.fetch, several);
    const path = join(liar.directory, 'model/large');
    writeFileSync(
      path,
      readFileSync(path).map((byte) => byte ^ 1),
    );
    const { fetch, directory } = startFetch(server);
    expect(await fetch.finished).toMatchObject({ files: 3, problemCount: 0 });
    expectSameTree(directory, from);
    await several('complete', 2);
    // What it had fetched itself is not lost.
    expect(await liar.fetch.finished).toMatchObject({ files: 3, problemCount: 0 });
    const sent = events.filter((event) => event.type === 'sent');
    expect(sent.map(({ leader }) => leader !== undefined)).toEqual([false, true, false]);
  });
});
