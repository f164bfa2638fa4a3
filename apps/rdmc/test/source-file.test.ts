import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryRegion } from '@rdmc/group';
import { rejection, temporaryDirectory, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { expectUnchanged, findSource, readInto, resized } from '../src/demo/source-file.js';

function regionOf(bytes: number): MemoryRegion {
  const memory = Buffer.alloc(bytes);
  const view = (offset: number, length: number) => memory.subarray(offset, offset + length);
  return { view } as unknown as MemoryRegion;
}

/** A file, and how it was found. */
async function found(content = 'abcde') {
  const path = join(temporaryDirectory(), 'sample');
  writeFileSync(path, content);
  return { path, source: await findSource(path) };
}

/** Changes the file until its time of change differs: the system's clock of files has steps of milliseconds. */
async function changeTime(path: string): Promise<void> {
  const before = statSync(path, { bigint: true }).mtimeNs;
  await until(() => {
    writeFileSync(path, 'ABCDE');
    return statSync(path, { bigint: true }).mtimeNs !== before;
  });
}

const refused = (path: string, how: string) => ({
  code: 'ERR_RDMC_FILE',
  message: `${path} ${how} while it was read`,
  advice: expect.stringContaining('--file'),
});

describe('the file that is sent', () => {
  it('is read as it is, and repeated to a size', async () => {
    const { path, source } = await found();
    const region = regionOf(5);
    await readInto(source, region);
    await expectUnchanged(source);
    expect(Buffer.from(region.view(0, 5)).toString()).toBe('abcde');
    const folder = temporaryDirectory();
    const longer = await resized(source, 13, folder);
    expect(longer).toMatchObject({ path: join(folder, 'source'), byteLength: 13 });
    expect(readFileSync(longer.path, 'utf8')).toBe('abcdeabcdeabc');
    expect(readFileSync(path, 'utf8')).toBe('abcde');
  });

  it.each<[string, (path: string) => void | Promise<void>, string]>([
    ['has become shorter', (path) => truncateSync(path, 2), 'shrank from 5 to 2 bytes'],
    ['has become longer', (path) => appendFileSync(path, 'more'), 'changed'],
    ['has other bytes', changeTime, 'changed'],
  ])('that %s is named', async (_, change, how) => {
    const { path, source } = await found();
    await change(path);
    expect(await rejection(expectUnchanged(source))).toMatchObject(refused(path, how));
    expect(await rejection(readInto(source, regionOf(5)))).toMatchObject(refused(path, how));
  });

  it('that is too short for its part of a size is named, and not the file that is written', async () => {
    const { path, source } = await found();
    truncateSync(path, 2);
    const error = await rejection(resized(source, 13, temporaryDirectory()));
    expect(error).toMatchObject(refused(path, 'shrank from 5 to 2 bytes'));
  });
});
