import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rejection, temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { configPlaces, hostsOfGroup, parseGroups, readGroups } from '../src/hosts/groups.js';
import { answer } from './support/cli.js';

const TEXT = `\uFEFF# groups
[rack1]
node1 rack=a   # the first
node2:7500 rack=a
[rack-2]

[fd00::5]:7411 rack=b
node4 port=7600 rack=b
[all]
@rack1
@rack-2
user@node5 rack=c
[empty]
`;

describe('groups of hosts', () => {
  const groups = parseGroups(TEXT, 'hosts');

  it('have the hosts below their names, in order, with those of other groups', () => {
    expect(hostsOfGroup('rack1', groups)).toEqual([
      { host: 'node1', rack: 'a' },
      { host: 'node2', port: 7500, rack: 'a' },
    ]);
    expect(hostsOfGroup('all', groups)).toEqual([
      { host: 'node1', rack: 'a' },
      { host: 'node2', port: 7500, rack: 'a' },
      { host: 'fd00::5', port: 7411, rack: 'b' },
      { host: 'node4', port: 7600, rack: 'b' },
      { user: 'user', host: 'node5', rack: 'c' },
    ]);
  });

  it.each([
    ['a host before the first group', 'node1\n', 'hosts, line 1: a host before the first group'],
    ['a group twice', '[a]\n[b]\n[a]\n', 'hosts, line 3: the group a begins in line 1 already'],
    ['a malformed name', '[a b]\n', 'hosts, line 1: a host before the first group'],
    [
      'a malformed name below a group',
      '[a]\n[b c]\n',
      'line 2: "[b c]" is not the name of a group in brackets',
    ],
    ['a malformed host', '[a]\n\n-oProxy=x\n', 'hosts, line 3: "-oProxy=x": "-oProxy=x" is not a host name'],
    ['an unknown attribute', '[a]\nnode1 color=red\n', 'line 2: "color=red" unknown'],
    ['a malformed reference', '[a]\n@b c\n', 'line 2: "@b c" is not @ and the name of a group'],
  ])('are refused with %s', (_, text, message) => {
    expect(thrown(() => parseGroups(text, 'hosts'))).toMatchObject({
      code: 'ERR_RDMC_USAGE',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['does not exist', 'rack3', 'hosts: no group has the name "rack3"', 'it has: rack1, rack-2, all, empty'],
    ['has no host', 'empty', 'the group empty in hosts does not contain a host', undefined],
  ])('that %s is refused', (_, name, message, advice) => {
    const error = thrown(() => hostsOfGroup(name, groups));
    expect(error.message).toBe(message);
    if (advice) expect(error).toMatchObject({ advice });
  });

  it('that contains itself is refused, with the way', () => {
    const circle = parseGroups('[a]\n@b\n[b]\nnode1\n@c\n[c]\n@a\n', 'hosts');
    expect(thrown(() => hostsOfGroup('a', circle)).message).toBe(
      'hosts, line 7: a group contains itself: a > b > c > a',
    );
    const unknown = parseGroups('[a]\n@b\n', 'hosts');
    expect(thrown(() => hostsOfGroup('a', unknown)).message).toBe('hosts, line 2: no group has the name "b"');
  });

  it('are read from the first place that has a file', async () => {
    const folder = temporaryDirectory();
    const path = join(folder, 'hosts');
    writeFileSync(path, TEXT);
    expect((await readGroups(undefined, [join(folder, 'none'), path])).file).toBe(path);
    const nowhere = await rejection(readGroups(undefined, [join(folder, 'none')]));
    expect(nowhere.message).toContain(`looked for ${join(folder, 'none')}`);
    const named = await rejection(readGroups(join(folder, 'none'), [path]));
    expect(named).toMatchObject({ code: 'ENOENT', exitCode: 2 });
    expect((await rejection(readGroups(folder, []))).code).toBe('EISDIR');
  });

  it('are looked for in the folder of the user, then in that of the system', () => {
    expect(configPlaces({}, '/home/me')).toEqual(['/home/me/.config/rdmc/hosts', '/etc/rdmc/hosts']);
    expect(configPlaces({ XDG_CONFIG_HOME: '/cfg' }, '/home/me')[0]).toBe('/cfg/rdmc/hosts');
  });

  it('are receivers of rdmc cast', async () => {
    const folder = temporaryDirectory();
    const path = join(folder, 'hosts');
    writeFileSync(path, '[two]\n127.0.0.1:1\n127.0.0.2:1\n');
    const planned = await answer('cast', path, '--to', '@two,127.0.0.3:1', '--config', path, '--plan');
    expect(planned.code, planned.stderr).toBe(0);
    for (const host of ['127.0.0.1:1', '127.0.0.2:1', '127.0.0.3:1']) expect(planned.stdout).toContain(host);
    const unused = await answer('cast', path, '--to', '127.0.0.1:1', '--config', path, '--plan');
    expect(unused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--config applies only to groups'),
    });
  });
});
