import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { describeUnset } from '../src/receive/unset.js';
import { finishedOf } from './support/casting.js';
import { answer, Scratch } from './support/cli.js';
import { castHere, receiverHere } from './support/here.js';

const isRoot = process.getuid?.() === 0;
const how = isRoot ? '' : ' (enable: run the tests as root, who may set owners)';
/** No user of this host. */
const USER = 54_321;

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

/** A directory with a file of another owner that runs as that one. */
function sampleTree(): string {
  const tree = join(scratch.path, 'tree');
  mkdirSync(tree);
  writeFileSync(join(tree, 'program'), 'program');
  chownSync(join(tree, 'program'), USER, USER);
  chmodSync(join(tree, 'program'), 0o4755);
  return tree;
}

const ownerAt = (directory: string): string => {
  const { uid, mode } = lstatSync(join(directory, 'tree/program'));
  return `${uid} ${(mode & 0o7777).toString(8)}`;
};

describe(`rdmc cast --archive${how}`, () => {
  it.runIf(isRoot)('sets owners and special mode bits at a receiver with --archive', async () => {
    const tree = sampleTree();
    const { directory, name } = await receiverHere(join(scratch.path, 'in'), { archive: true });
    const ended = await castHere(tree, '--to', name, '--archive', '--numeric-ids');
    expect(finishedOf(ended)).toMatchObject({ exitCode: 0, receivers: [{ unset: null }] });
    expect(ownerAt(directory)).toBe(`${USER} 4755`);
  });

  it.runIf(isRoot)('says which receiver has not set them, and ends with 0', async () => {
    const tree = sampleTree();
    const { directory, name } = await receiverHere(join(scratch.path, 'in'));
    const { code, stderr } = await answer('cast', tree, '--to', name, '--archive');
    expect(code).toBe(0);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `${name} has not set owners of 1 entry and set-user-id, set-group-id or sticky bits of 1 entry: ` +
        'it runs without --archive',
    );
    expect(ownerAt(directory)).toBe('0 755');
    const ended = await castHere(tree, '--to', name, '--archive');
    expect(finishedOf(ended)).toMatchObject({
      receivers: [{ unset: { accepted: false, owners: 1, modes: 1, attributes: 0 } }],
    });
  });
});

describe('the options of an archive cast', () => {
  it('exclude what does not fit', async () => {
    const usage = async (...args: string[]): Promise<string> => (await answer(...args)).stderr;
    expect(await usage('cast', 'x', '--to', 'a', '--numeric-ids')).toContain('applies only to --archive');
    expect(await usage('cast', 'x', '--to', 'a', '--archive', '--wait-for', '1')).toContain(
      '--archive is not possible with --wait-for',
    );
    expect(await usage('receive', '--stdout', '--archive')).toContain('--stdout and --archive exclude');
  });
});

describe('what a receiver has not set', () => {
  it('is named, with the reason', () => {
    const unset = { accepted: true, owners: 0, modes: 0, attributes: 2 };
    expect(describeUnset('n', { ...unset, attributeCode: 'ENOTSUP' })).toBe(
      'n has not set extended attributes of 2 entries (its file system has none)',
    );
    expect(describeUnset('n', { ...unset, modes: 1, attributeCode: 'ENOSPC' })).toContain(
      '2 entries (ENOSPC) and set-',
    );
    expect(describeUnset('n', { accepted: true, owners: 1, modes: 0, attributes: 0 })).toBe(
      'n has not set owners of 1 entry: it may not set them',
    );
  });
});
