import { refusal, thrown } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { fetcherKeys, fetchKey, isFetchKey, isSameOrigin, serverKeys } from '../src/pull/roles.js';

const KEY = 'a key of more than sixteen bytes';

it('a key for fetching gives what a fetcher needs, and nothing of the cluster key', () => {
  const text = fetchKey(KEY);
  expect(text).toMatch(/^rdmc-fetch-1:[0-9a-f]{128}$/);
  expect(fetchKey(Buffer.from(KEY))).toBe(text);
  expect(isFetchKey(text)).toBe(true);
  expect(isFetchKey(Buffer.from(`${text}\n`))).toBe(true);
  expect(isFetchKey(KEY)).toBe(false);
  const [server, fetcher] = [serverKeys(KEY), fetcherKeys(`${text}\n`)];
  expect(fetcher.secret.equals(server.secret)).toBe(true);
  expect(isSameOrigin(fetcher.origin, server.origin)).toBe(true);
  expect(Object.keys(fetcher)).not.toContain('signer');
  // A holder of the cluster key may fetch, too.
  expect(fetcherKeys(KEY).secret.equals(server.secret)).toBe(true);
  expect(fetcherKeys('another key of sixteen bytes').secret.equals(server.secret)).toBe(false);
});

it('a key for fetching is refused where the cluster key is needed', () => {
  const text = fetchKey(KEY);
  expect(thrown(() => serverKeys(text))).toEqual(refusal('ERR_RDMC_WRONG_ROLE'));
  expect(thrown(() => fetchKey(text))).toEqual(refusal('ERR_RDMC_WRONG_ROLE'));
  expect(thrown(() => fetcherKeys(text.slice(0, -2)))).toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
  expect(thrown(() => fetcherKeys('short'))).toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
});
