import type { StateStore } from '@rdmc/tailwind/coordinator';
import { refusal } from '@rdmc/testing';
import { expect, it } from 'vitest';

/** Storage for one state, which keeps its values when it is opened again. */
export interface StateStorePlace {
  open(): Promise<StateStore>;
}

/** The behaviour that a coordinator relies on. */
export function stateStoreContract(place: () => StateStorePlace | Promise<StateStorePlace>): void {
  it('keeps what was put, with revisions, across runs', async () => {
    const { open } = await place();
    const store = await open();
    const first = await store.put('a/1', 'one', 0);
    await store.put('a/2', 'two', 0);
    await store.put('b', 'three', 0);
    const second = await store.put('a/1', 'uno', first);
    expect(second).toBeGreaterThan(first);
    await store.close();
    const again = await open();
    expect([...(await again.list('a/'))].map(([key, { value }]) => [key, value]).sort()).toEqual([
      ['a/1', 'uno'],
      ['a/2', 'two'],
    ]);
    expect(await again.get('a/1')).toEqual({ value: 'uno', revision: second });
    expect(await again.get('c')).toBeUndefined();
    expect((await again.list('c')).size).toBe(0);
    await again.close();
  });

  it('keeps any text, long ones and those beyond ASCII', async () => {
    const { open } = await place();
    const store = await open();
    const texts = ['', '\u0000', 'ü€😀', '{"a":"\\n"}', 'x'.repeat(200_000)];
    for (const [number, text] of texts.entries()) await store.put(`text/ü/${number}`, text, 0);
    await store.close();
    const again = await open();
    for (const [number, text] of texts.entries()) {
      expect((await again.get(`text/ü/${number}`))?.value).toBe(text);
    }
    expect((await again.list('text/ü/')).size).toBe(texts.length);
    await again.close();
  });

  it('refuses to change a value that was changed or created meanwhile, or that does not exist', async () => {
    const store = await (await place()).open();
    const first = await store.put('a', '1', 0);
    const conflict = refusal('ERR_RDMC_STATE_CONFLICT');
    await expect(store.put('a', '2', 0)).rejects.toEqual(conflict);
    await store.put('a', '3', first);
    await expect(store.put('a', '4', first)).rejects.toEqual(conflict);
    await expect(store.put('b', '1', first)).rejects.toEqual(conflict);
    expect((await store.get('a'))?.value).toBe('3');
    expect(await store.get('b')).toBeUndefined();
    await store.close();
  });

  it('accepts one of several changes of the same revision', async () => {
    const store = await (await place()).open();
    const changes = await Promise.allSettled(['1', '2', '3'].map((value) => store.put('a', value, 0)));
    expect(changes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const winner = changes.findIndex(({ status }) => status === 'fulfilled');
    expect((await store.get('a'))?.value).toBe(String(winner + 1));
    await store.close();
  });

  it('can be opened once at a time, and again after it was closed', async () => {
    const { open } = await place();
    const store = await open();
    await expect(open()).rejects.toEqual(refusal('ERR_RDMC_STATE_LOCKED'));
    await store.put('a', '1', 0);
    await store.close();
    const again = await open();
    expect((await again.get('a'))?.value).toBe('1');
    await again.close();
  });

  it('refuses everything once it is closed; earlier requests are carried out', async () => {
    const { open } = await place();
    const store = await open();
    const before = store.put('a', '1', 0);
    await Promise.all([store.close(), store.close()]);
    await before;
    const closed = refusal('ERR_RDMC_STATE_CLOSED');
    await expect(store.get('a')).rejects.toEqual(closed);
    await expect(store.list('')).rejects.toEqual(closed);
    await expect(store.put('b', '1', 0)).rejects.toEqual(closed);
    const again = await open();
    expect((await again.get('a'))?.value).toBe('1');
    await again.close();
  });
}
