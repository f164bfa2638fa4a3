import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { addonOf, chosenAddons } from '../addon.mjs';
import { addonProblems, GLIBC_LIMIT } from '../addon-check.mjs';
import { parseElf } from '../elf.mjs';

function addonFile() {
  const file = join(temporaryDirectory('rdmc-addon'), 'rdmc_verbs.node');
  writeFileSync(file, '');
  return file;
}

describe('addons of other platforms', () => {
  it('are given as PLATFORM=FILE', () => {
    const file = addonFile();
    expect(addonOf(`linux-arm64=${file}`)).toEqual({ platform: 'linux-arm64', file });
  });

  it('are refused for an unknown platform, and without their file', () => {
    expect(() => addonOf('darwin-arm64=x.node')).toThrow(
      "--addon takes PLATFORM=FILE with linux-x64 or linux-arm64; this is 'darwin-arm64=x.node'",
    );
    expect(() => addonOf('x.node')).toThrow("this is 'x.node'");
    expect(() => addonOf('linux-arm64=/none/x.node')).toThrow(
      'There is no addon /none/x.node: give the file',
    );
  });

  it('are refused twice for one platform', () => {
    const given = `linux-arm64=${addonFile()}`;
    expect(() => chosenAddons([given, given])).toThrow('--addon has linux-arm64 twice');
  });
});

const PRINTED = `ELF Header:
  Machine:                           Advanced Micro Devices X86-64
Dynamic section at offset 0x12f000 contains 29 entries:
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
 0x000000000000000e (SONAME)             Library soname: [rdmc_verbs.node]
Version definition section '.gnu.version_d' contains 1 entry:
  0x0000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: rdmc_verbs.node
Version needs section '.gnu.version_r' contains 2 entries:
 Addr: 0x0000000000004f10  Offset: 0x004f10  Link: 4 (.dynstr)
  000000: Version: 1  File: ld-linux-x86-64.so.2  Cnt: 1
  0x0010:   Name: GLIBC_2.3  Flags: none  Version: 30
  0x0020: Version: 1  File: libc.so.6  Cnt: 2
  0x0030:   Name: GLIBC_2.28  Flags: none  Version: 31
  0x0040:   Name: GLIBC_2.2.5  Flags: WEAK  Version: 3
`;

describe('the check of an addon', () => {
  const right = parseElf(PRINTED);

  it('reads processor, libraries and symbol versions from readelf', () => {
    expect(right).toEqual({
      cpu: 'x64',
      libraries: ['libc.so.6', 'ld-linux-x86-64.so.2'],
      versions: ['GLIBC_2.3', 'GLIBC_2.28', 'GLIBC_2.2.5'],
    });
  });

  it('passes one that needs glibc in the allowed version only', () => {
    expect(addonProblems(right, 'x64')).toEqual([]);
  });

  it('says which libraries of the machine it needs', () => {
    const elf = { ...right, libraries: ['libstdc++.so.6', 'libc.so.6', 'libgcc_s.so.1'] };
    expect(addonProblems(elf, 'x64')).toEqual([
      "the addon needs libstdc++.so.6, libgcc_s.so.1 of the user's machine: build it with --portable",
    ]);
  });

  it('says which versions of symbols are too new, or of another library', () => {
    const elf = { ...right, versions: ['GLIBC_2.9', 'GLIBC_2.34', 'GLIBC_2.100', 'GLIBCXX_3.4.30'] };
    expect(addonProblems(elf, 'x64')).toEqual([
      'the addon needs symbols of versions GLIBCXX_3.4.30',
      `the addon needs GLIBC_2.34, GLIBC_2.100; the newest that is allowed is GLIBC_${GLIBC_LIMIT}: ` +
        'lead the new symbol to an older one (packages/verbs/native/portable)',
    ]);
  });

  it('says that it is for another processor', () => {
    expect(addonProblems(right, 'arm64')).toEqual(['the addon is for x64, not for arm64']);
  });
});
