import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Accounts } from '../src/archive/accounts.js';
import { decodeAttributes, encodeAttributes, isAccountName } from '../src/archive/entry-attributes.js';
import { BLOCK_AT, LEAST_BLOCK_BYTES, MAX_ACCOUNT_ID } from '../src/archive/layout.js';
import { type Owner, OwnerRules, specialBits } from '../src/archive/owner-rules.js';
import { ToldAttributes } from '../src/archive/told-attributes.js';
import type { ManifestEntry } from '../src/manifest/manifest-entry.js';
import { decodePiece } from '../src/manifest/piece-decoder.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';

const PASSWD = `root:x:0:0:root:/root:/bin/sh
# a comment
alice:x:1000:100:Alice:/home/alice:/bin/sh
second:x:1000:100::/:/bin/sh
alice:x:1001:100::/:/bin/sh
+:::::
broken
bob:x:twelve:1::/:/bin/sh
carol:x:1002:100::/:/bin/sh`;
const GROUP = 'root:x:0:\nusers:x:100:alice\nteam:x:200:alice,carol\n';
const accounts = { users: new Accounts(PASSWD), groups: new Accounts(GROUP) };
const told = { uid: 7, gid: 8, special: 0, user: '', group: '', extended: [] };

const id = fc.integer({ min: 0, max: MAX_ACCOUNT_ID });
const name = fc.string({ maxLength: 40 }).filter((text) => text === '' || isAccountName(text));
const extended = fc
  .uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[a-zé.]{1,20}$/).map((each) => `user.${each}`),
      value: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    }),
    { maxLength: 4, selector: ({ name: each }) => each },
  )
  .map((list) => list.sort((a, b) => (a.name < b.name ? -1 : 1)));
const attributes = fc.record({
  ...{ uid: id, gid: id, user: name, group: name },
  special: fc.constantFrom(0, 0o4000, 0o2000, 0o1000, 0o7000),
  extended,
});

describe('accounts', () => {
  it('are those of the file; the first line of a name or a number counts, and malformed ones do not', () => {
    const { users, groups } = accounts;
    expect([users.nameOf(1000), users.idOf('second'), users.idOf('alice')]).toEqual(['alice', 1000, 1000]);
    expect([users.idOf('bob'), users.idOf('+'), users.idOf('broken')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect([users.nameOf(1002), groups.nameOf(200), groups.idOf('users')]).toEqual(['carol', 'team', 100]);
  });
});

/** Blocks with impossible lists of extended attributes. */
function wrongExtended(): Record<string, Buffer> {
  const of = (...names: string[]): Buffer =>
    encodeAttributes({ ...told, extended: names.map((each) => ({ name: each, value: Buffer.from('v') })) });
  const changed = (change: (list: Buffer) => void): Buffer => {
    const bytes = of('user.a');
    change(bytes.subarray(LEAST_BLOCK_BYTES));
    return bytes;
  };
  return {
    'a label of the host': of('security.selinux'),
    'no name': of(''),
    'a name of another namespace': of('system.nfs4_acl'),
    'two in the wrong order': of('user.b', 'user.a'),
    'one twice': of('user.a', 'user.a'),
    'a zero byte in a name': of('user.a\0b'),
    'a name that is not UTF-8': changed((list) => list.writeUInt8(0xff, 10)),
    'a name beyond the block': changed((list) => list.writeUInt16LE(200, 0)),
    'a value beyond the block': changed((list) => list.writeUInt32LE(0xffff_ffff, 2)),
    'a part of a header': Buffer.concat([of('user.a'), Buffer.alloc(3)]),
  };
}

describe('the attributes of an entry', () => {
  it('are decoded as they were encoded', () => {
    fc.assert(
      fc.property(attributes, (given) => {
        expect(decodeAttributes(encodeAttributes(given))).toEqual(given);
      }),
    );
  });

  it('are refused where they are impossible', () => {
    const block = (change: (bytes: Buffer) => void, names = { user: 'alice', group: 'users' }): Buffer => {
      const bytes = encodeAttributes({ ...told, ...names });
      change(bytes);
      return bytes;
    };
    const nothing = (): void => {};
    const wrong: Record<string, Buffer> = {
      'the user that means no change': block((bytes) => bytes.writeUInt32LE(0xffff_ffff, BLOCK_AT.UID)),
      'the group that means no change': block((bytes) => bytes.writeUInt32LE(0xffff_ffff, BLOCK_AT.GID)),
      'permission bits': block((bytes) => bytes.writeUInt16LE(0o4755, BLOCK_AT.SPECIAL)),
      'bits beyond a mode': block((bytes) => bytes.writeUInt16LE(0o10000, BLOCK_AT.SPECIAL)),
      'names that end within the block': block((bytes) => bytes.writeUInt8(4, BLOCK_AT.USER_BYTES)),
      'names beyond the block': block((bytes) => bytes.writeUInt8(200, BLOCK_AT.GROUP_BYTES)),
      'a colon': block(nothing, { user: 'a:0', group: '' }),
      'a line break': block(nothing, { user: 'a\nroot', group: '' }),
      'a zero byte': block(nothing, { user: '', group: 'a\0' }),
      ...wrongExtended(),
    };
    for (const [what, bytes] of Object.entries(wrong))
      expect(() => decodeAttributes(bytes), what).toThrow(
        expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' }),
      );
  });

  it('are in the manifest of an archive cast only, and not of hard links', () => {
    const file: ManifestEntry = {
      ...{ kind: 'file', path: Buffer.from('a'), mode: 0o644, time: { seconds: 1, nanoseconds: 0 }, size: 1 },
      ...{ target: Buffer.alloc(0), targetIndex: 0, digest: Buffer.alloc(32, 1) },
      attributes: encodeAttributes({ ...told, user: 'alice' }),
    };
    const { attributes: _, ...plain } = file;
    const link = { ...plain, kind: 'hardLink', target: file.path, digest: undefined } as const;
    const decoded = (entries: readonly ManifestEntry[], isArchive: boolean): ManifestEntry[] => {
      const encoder = new PieceEncoder(0);
      for (const each of entries) encoder.add(each);
      const { count, data } = encoder.finish();
      return [...decodePiece(count, data, isArchive)];
    };
    expect(decoded([file, link, file], true)).toEqual([file, link, file]);
    expect(decoded([plain, link], false)).toEqual([plain, link]);
    const short = Buffer.from(file.attributes!);
    short.writeUInt32LE(LEAST_BLOCK_BYTES - 1, BLOCK_AT.BYTES);
    const long = Buffer.from(file.attributes!);
    long.writeUInt32LE(0x7fff_ffff, BLOCK_AT.BYTES);
    const wrong: [readonly ManifestEntry[], boolean][] = [
      [[file], false],
      [[plain], true],
      [[{ ...link, attributes: file.attributes }], true],
      [[{ ...file, attributes: short }], true],
      [[{ ...file, attributes: long }], true],
      [[{ ...file, attributes: file.attributes!.subarray(0, 8) }], true],
    ];
    for (const [entries, isArchive] of wrong)
      expect(() => decoded(entries, isArchive)).toThrow(
        expect.objectContaining({ code: 'ERR_RDMC_CAST_PROTOCOL' }),
      );
  });

  it('have the names of the sender, unless only numbers count', () => {
    const stats = { uid: 1000n, gid: 200n, mode: 0o104755n };
    const named = new ToldAttributes(accounts);
    expect(decodeAttributes(named.of(stats))).toEqual({
      ...{ uid: 1000, gid: 200, special: 0o4000, user: 'alice', group: 'team', extended: [] },
    });
    expect(named.of(stats)).toBe(named.of({ ...stats, mode: 0o104711n }));
    const numeric = decodeAttributes(new ToldAttributes(undefined).of(stats));
    expect(numeric).toMatchObject({ uid: 1000, user: '', group: '' });
  });
});

describe('the owner of an entry', () => {
  const rulesOf = (uid: number, groups: readonly number[] = [uid]): OwnerRules =>
    new OwnerRules({ uid, gid: groups[0]!, groups: new Set(groups) }, accounts);

  it('is that of the name here, else that of the number; root stays root', () => {
    const wanted = (given: Partial<typeof told>): Owner => rulesOf(0).wanted({ ...told, ...given });
    expect(wanted({ user: 'carol', group: 'team' })).toEqual({ uid: 1002, gid: 200 });
    expect(wanted({ user: 'nobody here', group: 'nor here' })).toEqual({ uid: 7, gid: 8 });
    expect(wanted({})).toEqual({ uid: 7, gid: 8 });
    expect(wanted({ uid: 0, gid: 0, user: 'alice', group: 'team' })).toEqual({ uid: 0, gid: 0 });
  });

  it('is set by root; others set only their own groups, on their own entries', () => {
    const wanted = { uid: 7, gid: 200 };
    expect(rulesOf(0).possible(wanted, { uid: 1000, gid: 100 })).toEqual(wanted);
    const alice = rulesOf(1000, [100, 200]);
    expect(alice.possible(wanted, { uid: 1000, gid: 100 })).toEqual({ uid: 1000, gid: 200 });
    expect(alice.possible({ uid: 7, gid: 300 }, { uid: 1000, gid: 100 })).toEqual({ uid: 1000, gid: 100 });
    expect(alice.possible(wanted, { uid: 7, gid: 100 })).toEqual({ uid: 7, gid: 100 });
  });

  it('keeps set-user-id and set-group-id away from other owners', () => {
    const wanted = { uid: 7, gid: 8 };
    expect(specialBits(0o7000, wanted, wanted)).toBe(0o7000);
    expect(specialBits(0o7000, wanted, { uid: 1, gid: 8 })).toBe(0o3000);
    expect(specialBits(0o7000, wanted, { uid: 7, gid: 1 })).toBe(0o5000);
    expect(specialBits(0o7000, wanted, { uid: 1, gid: 1 })).toBe(0o1000);
  });
});
