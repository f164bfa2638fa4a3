import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CastOptions, type CastSummary, castFile } from '@rdmc/cast';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { ArchivedExtended } from '../src/archive/archived-extended.js';
import { type AttributeCalls, readExtended, systemCalls } from '../src/archive/attribute-calls.js';
import { ToldAttributes } from '../src/archive/told-attributes.js';
import { newChecksum } from '../src/checksum.js';
import { resolveRoots } from '../src/reader/roots.js';
import { StreamReader } from '../src/reader/stream-reader.js';
import { Survey } from '../src/reader/survey.js';
import { startReceivers } from './support/receivers.js';
import { seededBytes, write } from './support/tree.js';

const isRoot = process.getuid?.() === 0;
const system = systemCalls();

/** Whether the directory of the tests is in a file system with extended attributes. */
const hasAttributes = triesOne();
const how = hasAttributes ? '' : ' (enable: TMPDIR in a file system with extended attributes)';

function triesOne(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'rdmc-extended-'));
  try {
    system.set(directory, 'user.try', Buffer.from('1'));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Read and write for the owner and for user 1234, read for the group; the mask is rw. */
const ACCESS_LIST = Buffer.from(
  '0200000001000600ffffffff02000600d204000004000400ffffffff10000600ffffffff20000400ffffffff',
  'hex',
);

const found = (directory: string, name: string): Record<string, string> =>
  Object.fromEntries(
    readExtended(system, join(directory, name), isRoot)!.map((each) => [
      each.name,
      each.value.toString('hex'),
    ]),
  );
const NAMES = ['root', 'root/plain', 'root/large', 'root/listed', 'root/same'];
const all = (directory: string) => NAMES.map((name) => [name, found(directory, name)]);

/** A tree with attributes of files and directories. */
function tree(): string {
  const from = temporaryDirectory();
  write(from, 'root/plain', 'plain');
  write(from, 'root/large', seededBytes(2_000_000, 1));
  write(from, 'root/listed', 'listed');
  linkSync(join(from, 'root/plain'), join(from, 'root/same'));
  symlinkSync('plain', join(from, 'root/link'));
  system.set(join(from, 'root'), 'user.of-directory', Buffer.from('yes'));
  system.set(join(from, 'root/plain'), 'user.empty', Buffer.alloc(0));
  system.set(join(from, 'root/plain'), 'user.b\u00e9', Buffer.from([0, 255, 10]));
  system.set(join(from, 'root/large'), 'user.x', seededBytes(1000, 2));
  system.set(join(from, 'root/listed'), 'system.posix_acl_access', ACCESS_LIST);
  return from;
}

function send(from: string, to: CastOptions['to'], extra: Partial<CastOptions> = {}): Promise<CastSummary> {
  return castFile(join(from, 'root'), { to, archive: true, ...extra }).finished;
}

describe.runIf(hasAttributes)(`extended attributes in an archive cast${how}`, () => {
  it('arrive, also access control lists; the same cast again sends nothing', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    const { problems, receivers } = await send(from, [to]);
    expect(problems).toEqual([]);
    expect(receivers[0]!.unset).toBeUndefined();
    expect(all(directory)).toEqual(all(from));
    expect(found(directory, 'root/plain')).toEqual({ 'user.empty': '', 'user.bé': '00ff0a' });
    expect(statSync(join(directory, 'root/listed')).mode & 0o777).toBe(0o664);
    expect(await send(from, [to])).toMatchObject({ sentFiles: 0 });
  });

  it('that changed, or that are only at the receiver, are replaced; of a large file no block is sent', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    await send(from, [to]);
    system.set(join(from, 'root/large'), 'user.x', Buffer.from('new'));
    system.remove(join(from, 'root'), 'user.of-directory');
    system.set(join(directory, 'root/plain'), 'user.extra', Buffer.from('only there'));
    system.set(join(directory, 'root'), 'user.extra', Buffer.from('only there'));
    const preview = await send(from, [to], { dryRun: true });
    const changes = new Map(preview.receivers[0]!.changes!.map(({ path, change }) => [path, change]));
    expect(Object.fromEntries(changes)).toMatchObject({
      root: 'attributes',
      'root/large': 'replace',
      'root/plain': 'replace',
    });
    const summary = await send(from, [to]);
    expect(summary.problems).toEqual([]);
    expect(summary.transferredBytes).toBe('plain'.length);
    expect(all(directory)).toEqual(all(from));
    expect(await send(from, [to])).toMatchObject({ sentFiles: 0 });
  });

  it('are counted at a receiver that did not ask for them, and the same again sends nothing', async () => {
    const from = tree();
    const [receiver] = await startReceivers(1);
    const { to, directory } = receiver!;
    const unset = { accepted: false, attributes: 4 };
    expect((await send(from, [to], { dryRun: true })).receivers).toMatchObject([{ unset }]);
    expect((await send(from, [to])).receivers).toMatchObject([{ state: 'complete', unset }]);
    expect(found(directory, 'root/plain')).toEqual({});
    expect(await send(from, [to])).toMatchObject({ sentFiles: 0, receivers: [{ unset }] });
    system.set(join(directory, 'root'), 'user.of-directory', Buffer.from('yes'));
    expect((await send(from, [to])).receivers).toMatchObject([{ unset: { ...unset, attributes: 3 } }]);
  });

  it('of a list for new entries of a directory do not stay at files that do not have them', async () => {
    const from = temporaryDirectory();
    write(from, 'root/file', 'file');
    const [receiver] = await startReceivers(1, { archive: true });
    const { to, directory } = receiver!;
    system.set(directory, 'system.posix_acl_default', ACCESS_LIST);
    const { problems } = await send(from, [to]);
    expect(problems).toEqual([]);
    expect([found(directory, 'root'), found(directory, 'root/file')]).toEqual([{}, {}]);
    expect(statSync(join(directory, 'root/file')).mode & 0o777).toBe(0o644);
  });

  it('of a file that changed between its listing and its reading: the file is not sent', () => {
    const from = temporaryDirectory();
    mkdirSync(join(from, 'root'));
    writeFileSync(join(from, 'root/a'), 'a');
    chmodSync(join(from, 'root/a'), 0o644);
    const told = new ToldAttributes(undefined, system, isRoot);
    const { entries } = new Survey(resolveRoots([Buffer.from(join(from, 'root'))]), { told });
    system.set(join(from, 'root/a'), 'user.new', Buffer.from('1'));
    const reader = new StreamReader(entries, newChecksum('gmac'), { told });
    reader.fill(0, Buffer.alloc(1 << 20));
    expect(reader.problems.kept).toMatchObject([{ path: 'root/a', code: 'ERR_RDMC_FILE_CHANGED' }]);
    reader.close();
  });
});

describe('extended attributes where the system refuses them', () => {
  const refusing = (code: string): AttributeCalls => {
    const refuse = (): never => {
      throw Object.assign(new Error(code), { code });
    };
    return { list: code === 'ENOTSUP' ? refuse : () => [], get: () => null, set: refuse, remove: refuse };
  };
  const told = [{ name: 'user.a', value: Buffer.from('1') }];

  it.each(['ENOTSUP', 'EPERM', 'ENOSPC'])('%s is counted with its code, and is no failure', (code) => {
    const extended = new ArchivedExtended(true, () => refusing(code), false);
    extended.set(3, told, '/x');
    extended.set(4, [], '/x');
    expect(extended.unset).toEqual({ attributes: 1, attributeCode: code });
  });

  it('a file system without them is not sent a file again for that', () => {
    const extended = new ArchivedExtended(true, () => refusing('ENOTSUP'), false);
    expect(extended.matches(1, told, Buffer.from('/x'))).toBe(true);
    expect(extended.matches(2, [], Buffer.from('/x'))).toBe(true);
    expect(extended.unset).toEqual({ attributes: 1, attributeCode: 'ENOTSUP' });
  });

  it('others are errors; those that give rights are set by root only', () => {
    const extended = new ArchivedExtended(true, () => refusing('EIO'), false);
    expect(thrown(() => extended.set(0, told, '/x'))).toMatchObject({ code: 'EIO' });
    extended.set(0, [{ name: 'security.capability', value: Buffer.from('1') }], '/x');
    expect(extended.unset).toEqual({ attributes: 1, attributeCode: 'EPERM' });
  });

  it('an entry with too many is not told', () => {
    const calls: AttributeCalls = {
      ...refusing('EIO'),
      list: () => ['user.a', 'user.b', 'user.c'],
      get: () => Buffer.alloc(60_000),
    };
    expect(thrown(() => readExtended(calls, '/x', false))).toMatchObject({
      code: 'ERR_RDMC_ATTRIBUTES_TOO_LARGE',
    });
  });

  it('the codes are those of the system', () => {
    const path = join(temporaryDirectory(), 'missing');
    expect(thrown(() => system.list(path))).toMatchObject({ code: 'ENOENT' });
  });
});
