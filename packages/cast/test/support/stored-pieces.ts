import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, onTestFinished } from 'vitest';
import { PULL_HASHES_IN_FRAME } from '../../src/constants.js';
import type { ComparisonKind } from '../../src/manifest/policy.js';
import { CastTree } from '../../src/pull/cast-tree.js';
import { Origin, type OriginFacts } from '../../src/pull/origin.js';
import { NUMBER_BYTES } from '../../src/pull/piece-message.js';
import { PieceStore } from '../../src/pull/piece-store.js';
import { ServedTree } from '../../src/pull/served-tree.js';
import type { SyncPort } from '../../src/writer/sync-port.js';

export function newStore(directory: string, sync?: SyncPort, hasLinks = false): PieceStore {
  const none = (): void => {};
  const ports = { castId: randomUUID(), sync, step: none, active: none };
  const store = new PieceStore({ ...ports, directory, hasLinks, resumeLimit: { share: 1 } });
  onTestFinished(() => store.close());
  return store;
}

/** What an origin offers, and a store that has been told of it. */
export async function offered(
  from: string,
  directory = temporaryDirectory(),
  {
    sync,
    compare = 'size-time',
    isCast = false,
  }: {
    readonly sync?: SyncPort | undefined;
    readonly compare?: ComparisonKind;
    /** Whether a sender offers it, with links, and not a server. */
    readonly isCast?: boolean;
  } = {},
) {
  const origin = new Origin();
  onTestFinished(() => origin.close());
  const paths = readdirSync(from).map((name) => Buffer.from(join(from, name)));
  const tree = isCast
    ? new CastTree({ paths, rules: [], listed: undefined })
    : ServedTree.open(from, Buffer.alloc(0));
  const facts = origin.survey(tree);
  const store = newStore(directory, sync, isCast);
  tell(store, origin, facts);
  const { bits, lackingBytes } = await store.begin(facts.root, compare);
  return { origin, facts, store, bits, lackingBytes, directory };
}

export function tell(store: PieceStore, origin: Origin, { manifest, pieces }: OriginFacts): void {
  for (const { first, count, data } of manifest) store.entries(first, count, data);
  for (let first = 0; first < pieces; first += PULL_HASHES_IN_FRAME)
    store.hashes(first, origin.hashes(first).toString('base64'));
}

/** A message with one piece, as the server fills it. */
export function message(origin: Origin, piece: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES + origin.map.bytesOf(piece));
  bytes.writeUInt32LE(piece);
  expect(origin.read(piece, bytes.subarray(NUMBER_BYTES))).toBeUndefined();
  return bytes;
}
