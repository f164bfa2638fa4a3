import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { castFiles, fetchKey } from '@rdmc/cast';
import { refusal, rejection, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { MIB } from '../src/constants.js';
import { KEY, startFetch, startServer } from './support/pull.js';
import { startReceivers, temporaries, visible } from './support/receivers.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

/** A directory to serve: large and small files, an empty one, and directories. */
function served(bytes = 3_000_000): string {
  const from = temporaryDirectory();
  write(from, 'model/large', seededBytes(bytes, 1));
  write(from, 'model/small/one', 'one', 0o600);
  write(from, 'model/small/empty', '');
  mkdirSync(join(from, 'model/bare'), { mode: 0o750 });
  return from;
}

describe('a pull', () => {
  it('brings a name to several fetchers at once, byte by byte, in one cast', async () => {
    const from = served();
    const { server, several } = await startServer(from, { key: KEY });
    const key = fetchKey(KEY);
    const fetches = [1, 2, 3].map(() => startFetch(server, { name: 'model', key }));
    const summaries = await Promise.all(fetches.map(({ fetch }) => fetch.finished));
    for (const { directory } of fetches) {
      expectSameTree(directory, from);
      expect(temporaries(directory)).toEqual([]);
    }
    const [first] = summaries;
    for (const summary of summaries) {
      expect(summary).toMatchObject({ files: 3, bytes: 3_000_003, directories: 3, receivedBytes: 3_000_003 });
      expect(summary).toMatchObject({ encrypted: true, problemCount: 0, skipped: 0, root: first!.root });
    }
    const done = await several('complete', 3);
    expect(done.map(({ storedBytes, name }) => [storedBytes, name])).toEqual(
      done.map(() => [3_000_003, 'model']),
    );
    await server.close();
  });

  it('a late fetcher joins at a boundary, and gets the beginning afterwards', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(24 * MIB, 2));
    // Six seconds, in which the late one joins, unless the machine is very busy.
    const { server, several, events } = await startServer(from, { bandwidthLimit: 4 * MIB });
    const early = startFetch(server, { name: 'file' });
    await several('progress', 1);
    const late = startFetch(server, { name: 'file' });
    await Promise.all([early, late].map(({ fetch }) => fetch.finished));
    for (const { directory } of [early, late]) expectSameTree(directory, from);
    await several('complete', 2);
    const sent = events.filter((event) => event.type === 'sent');
    // No piece twice to anybody.
    expect(sent.reduce((sum, { pieces, fetchers }) => sum + pieces * fetchers, 0)).toBe(2 * 24);
    // The beginning to the early one, the rest to both, and the beginning to the late one.
    const inTime = sent.length === 3;
    expect(sent.map(({ fetchers }) => fetchers)).toEqual(inTime ? [1, 2, 1] : [1, 1]);
    expect(sent.at(-1)!.pieces).toBe(inTime ? sent[0]!.pieces : 24);
  });

  it('sends only what is missing: nothing where everything is here, and single pieces of a file that changed', async () => {
    const from = served(5 * MIB);
    const { server, events, several } = await startServer(from);
    const { fetch, directory } = startFetch(server);
    expect(await fetch.finished).toMatchObject({ files: 3, unchangedFiles: 0 });
    const again = startFetch(server, { directory });
    expect(await again.fetch.finished).toMatchObject({ files: 0, unchangedFiles: 3, receivedBytes: 0 });
    expect(events.filter(({ type }) => type === 'sent')).toHaveLength(1);

    const old = seededBytes(5 * MIB, 1);
    old[2 * MIB + 7]! ^= 1;
    writeFileSync(join(directory, 'model/large'), old);
    const third = startFetch(server, { directory });
    expect(await third.fetch.finished).toMatchObject({
      ...{ files: 1, unchangedFiles: 2 },
      ...{ receivedBytes: MIB, keptBytes: 4 * MIB },
    });
    expectSameTree(directory, from);

    // Size and time hide a change, and contents show it.
    const path = join(directory, 'model/small/one');
    writeFileSync(path, 'two');
    const { time } = { time: new Date(1_600_000_000_000) };
    utimesSync(path, time, time);
    utimesSync(join(from, 'model/small/one'), time, time);
    const hidden = startFetch(server, { directory });
    expect(await hidden.fetch.finished).toMatchObject({ files: 0, unchangedFiles: 3 });
    const seen = startFetch(server, { directory, compare: 'content' });
    expect(await seen.fetch.finished).toMatchObject({ files: 1, unchangedFiles: 2 });
    expectSameTree(directory, from);
    await several('complete', 5);
  });

  it('an empty directory, and an empty file, are fetched too; without encryption where the server says so', async () => {
    const from = temporaryDirectory();
    const { server } = await startServer(from, { encrypt: false });
    expect(await startFetch(server).fetch.finished).toMatchObject({ files: 0, bytes: 0 });
    write(from, 'empty', '');
    const { fetch, directory } = startFetch(server, { name: 'empty' });
    expect(await fetch.finished).toMatchObject({ files: 1, bytes: 0 });
    expect(namesIn(directory)).toEqual(['empty']);
    write(from, 'small', 'small');
    const all = startFetch(server, { directory });
    expect(await all.fetch.finished).toMatchObject({ files: 1, unchangedFiles: 1, encrypted: false });
    expectSameTree(directory, from);
  });
});

describe('what is served', () => {
  it('directories and regular files only; links are neither listed nor followed', async () => {
    const outside = temporaryDirectory();
    write(outside, 'secret', 'secret');
    const from = served();
    symlinkSync(join(outside, 'secret'), join(from, 'model/link'));
    symlinkSync(outside, join(from, 'model/directory'));
    symlinkSync(outside, join(from, 'away'));
    linkSync(join(from, 'model/small/one'), join(from, 'model/same'));
    mkdirSync(join(from, '.rdmc-cast-x'));
    const { server } = await startServer(from);
    const { fetch, directory } = startFetch(server);
    expect(await fetch.finished).toMatchObject({ files: 4, skipped: 3, problemCount: 0 });
    expect(namesIn(directory)).not.toContain('model/link');
    expect(readdirSync(directory)).toEqual(['model']);

    for (const name of ['away', 'away/secret', 'model/directory/secret', 'model/link'])
      expect(await rejection(startFetch(server, { name }).fetch.finished)).toEqual(
        refusal('ERR_RDMC_UNSAFE_PATH'),
      );
    expect(await rejection(startFetch(server, { name: 'none' }).fetch.finished)).toEqual(
      refusal('ERR_RDMC_NOT_FOUND'),
    );
    expect(await rejection(startFetch(server, { name: 'model/large/x' }).fetch.finished)).toEqual(
      refusal('ERR_RDMC_NOT_FOUND'),
    );
  });

  it('a file that changes while it is served is a problem; the others arrive', async () => {
    const from = temporaryDirectory();
    write(from, 'a', seededBytes(8 * MIB, 3));
    write(from, 'b', seededBytes(8 * MIB, 4));
    write(from, 'c', seededBytes(MIB, 5));
    const { server, several } = await startServer(from, { bandwidthLimit: 8 * MIB });
    const { fetch, directory } = startFetch(server);
    await several('began', 1);
    write(from, 'b', seededBytes(8 * MIB, 6));
    const summary = await fetch.finished;
    expect(summary.problems).toEqual([expect.objectContaining({ path: 'b', code: 'ERR_RDMC_FILE_CHANGED' })]);
    expect(namesIn(directory)).toEqual(['a', 'c']);
    // The next fetch gets the file as it is now, and only that.
    const again = startFetch(server, { directory });
    expect(await again.fetch.finished).toMatchObject({ files: 1, unchangedFiles: 2, problemCount: 0 });
    expectSameTree(directory, from);
  });
});

describe('a served directory that changes while it is served', () => {
  it('shows nothing from outside, names what is gone, and the next fetch gets it as it is then', async () => {
    const [from, outside] = [temporaryDirectory(), temporaryDirectory()];
    write(from, 'a', seededBytes(8 * MIB, 3));
    for (const name of ['d/file', 'linked', 'removed']) write(from, name, seededBytes(MIB, 4));
    for (const name of ['file', 'linked']) write(outside, name, 'x'.repeat(MIB));
    const { server, several } = await startServer(from, { bandwidthLimit: 8 * MIB });
    const { fetch, directory } = startFetch(server);
    await several('began', 1);
    // A directory and a file become links to others of the same names and sizes.
    renameSync(join(from, 'd'), join(from, 'd-before'));
    symlinkSync(outside, join(from, 'd'));
    rmSync(join(from, 'linked'));
    symlinkSync(join(outside, 'linked'), join(from, 'linked'));
    rmSync(join(from, 'removed'));
    write(from, 'later', 'later');
    const { problems } = await fetch.finished;
    expect(problems.map(({ path }) => path).sort()).toEqual(expect.arrayContaining(['linked', 'removed']));
    const names = namesIn(directory).filter((name) => name.includes('file') || name === 'linked');
    for (const name of names) expect(readFileSync(join(directory, name)).includes('xxx'), name).toBe(false);
    expect(namesIn(directory)).not.toEqual(expect.arrayContaining(['linked']));
    const again = startFetch(server, { directory });
    expect(await again.fetch.finished).toMatchObject({ problemCount: 0, skipped: 2 });
    expect(readFileSync(join(directory, 'later'), 'utf8')).toBe('later');
  });
});

describe('keys', () => {
  it('a wrong key, and a key for fetching in the place of the cluster key, are refused', async () => {
    const from = served();
    const { server } = await startServer(from, { key: KEY });
    const wrong = startFetch(server, { key: 'another key of sixteen bytes' });
    expect(await rejection(wrong.fetch.finished)).toEqual(refusal('ERR_RDMC_KEY_MISMATCH'));
    const none = startFetch(server);
    expect(await rejection(none.fetch.finished)).toEqual(refusal('ERR_RDMC_KEY_MISMATCH'));
    expect(await rejection(startServer(from, { key: fetchKey(KEY) }))).toEqual(
      refusal('ERR_RDMC_WRONG_ROLE'),
    );

    // A receiver with it would be open to all that fetch.
    expect(await rejection(startReceivers(1, { key: fetchKey(KEY) }))).toEqual(
      refusal('ERR_RDMC_WRONG_ROLE'),
    );

    // With a key for fetching nobody can cast to a receiver with the cluster key, also not to the server.
    const [receiver] = await startReceivers(1, { key: KEY });
    for (const to of [receiver!.to, server.address]) {
      const cast = castFiles([join(from, 'model')], { to: [to], key: fetchKey(KEY) });
      expect(await rejection(cast.finished)).toEqual(refusal('ERR_RDMC_KEY_MISMATCH'));
    }
  });

  it('a server that has the secret of fetchers, but not the cluster key, is not believed', async () => {
    const from = served();
    const { server } = await startServer(from, { key: KEY });
    // The public key of another cluster beside the secret of this one: as if a fetcher served.
    const [own, other] = [fetchKey(KEY), fetchKey('another key of sixteen bytes')];
    const mixed = own.slice(0, -64) + other.slice(-64);
    const { fetch, directory } = startFetch(server, { key: mixed });
    expect(await rejection(fetch.finished)).toEqual(refusal('ERR_RDMC_ORIGIN_NOT_PROVED'));
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('the end of a pull', () => {
  it('a fetcher that leaves does not end the others, and keeps no incomplete file', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(16 * MIB, 7));
    // Four seconds, in which it leaves.
    const { server, several } = await startServer(from, { bandwidthLimit: 4 * MIB });
    const [leaves, stays] = [startFetch(server), startFetch(server)];
    await Promise.all([several('began', 2), several('progress', 1)]);
    leaves.fetch.abort();
    expect(await rejection(leaves.fetch.finished)).toEqual(refusal('ERR_RDMC_ABORTED'));
    expect(visible(leaves.directory)).toEqual([]);
    await stays.fetch.finished;
    expectSameTree(stays.directory, from);
    expect(await several('failed', 1)).toHaveLength(1);
  });

  it('a server that closes ends its fetches; one that is not there is called again with waitMs', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(16 * MIB, 8));
    // Half a minute: a busy machine does not bring all of it before the server closes.
    const { server, several } = await startServer(from, { bandwidthLimit: MIB / 2 });
    const { fetch, directory } = startFetch(server);
    await several('progress', 1);
    await server.close();
    expect(await rejection(fetch.finished)).toEqual(refusal('ERR_RDMC_SENDER_LOST'));
    expect(visible(directory)).toEqual([]);

    const gone = startFetch(server);
    expect(await rejection(gone.fetch.finished)).toEqual(refusal('ERR_RDMC_CAST_UNREACHABLE'));
    const waiting = startFetch(server, { directory, waitMs: 600_000 });
    await startServer(from, { port: server.address.port });
    // It continues inside the file.
    const { files, receivedBytes, resumedBytes } = await waiting.fetch.finished;
    expect([files, receivedBytes + resumedBytes]).toEqual([1, 16 * MIB]);
    expect(resumedBytes).toBeGreaterThan(0);
    expectSameTree(directory, from);
    expect(readdirSync(directory)).toEqual(['file']);
  });
});
