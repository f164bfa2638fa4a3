import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { createLab, findLabs, type Netlab } from '../src/index.js';
import { labTest, netem, netemTest } from './needs.js';

const MIB = 1 << 20;

/** The output of a command in a host. */
async function say(lab: Netlab, host: string, command: string, env = {}): Promise<string> {
  const child = lab.exec(host, 'sh', ['-c', command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let said = '';
  child.stdout!.on('data', (text) => {
    said += text;
  });
  await once(child, 'close');
  return said.trim();
}

const LISTEN = "require('node:net').createServer((s) => s.end()).listen(7000, () => console.log('ready'))";
const REACH = `
  const socket = require('node:net').connect({ host: process.argv[1], port: 7000 });
  const answer = (word) => { console.log(word); process.exit(); };
  socket.on('connect', () => answer('reached'));
  setTimeout(answer, Number(process.argv[2]), 'silence');`;

/** Starts a listener in a host. */
async function listen(lab: Netlab, host: string): Promise<void> {
  const child = lab.exec(host, process.execPath, ['-e', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
}

const connect = (lab: Netlab, from: string, to: string, ms: number) =>
  say(lab, from, `exec ${process.execPath} -e "$REACH" ${to} ${ms}`, { REACH });
/** The result of a connection within a time that counts from the attempt, not from the start of a process. */
const briefly = (lab: Netlab, from: string, to: string) => connect(lab, from, to, 300);
/** After a cut, a neighbour's address is requested only once a second. */
const patiently = (lab: Netlab, from: string, to: string) => connect(lab, from, to, 10_000);

/** Other labs may be created and removed: only this process's count. */
const namespaces = () =>
  readdirSync('/run/netns').filter((name) => name.startsWith('netlab.') && name.includes(`${process.pid}`));

labTest('hosts know their own names, addresses and each other', async () => {
  await using lab = await createLab({ hosts: ['alpha', 'beta'] });
  expect(await say(lab, 'beta', 'hostname; echo $NETLAB_HOST $NETLAB_HOSTS')).toBe('beta\nbeta alpha beta');
  expect(await say(lab, 'beta', 'getent ahostsv4 alpha | head -1')).toMatch(/^10\.77\.0\.1\s/);
  expect(await say(lab, 'beta', 'getent ahostsv6 alpha | head -1')).toMatch(/^fd77::1\s/);
  expect(await say(lab, 'alpha', 'ip -br address show eth0')).toMatch(/10\.77\.0\.1\/16 fd77::1\/64/);
  const missing = lab.exec('alpha', 'no-such-command', [], { stdio: 'ignore' });
  expect((await once(missing, 'exit'))[0]).toBe(127);
  expect(() => lab.exec('gamma', 'true')).toThrow(
    expect.objectContaining({ code: 'ERR_RDMC_NETLAB_NO_HOST' }),
  );
});

labTest('the pid of a child is the command’s own, and its stdio is not changed', async () => {
  await using lab = await createLab({ hosts: 1 });
  const child = lab.exec('h0', process.execPath, ['-e', 'process.send(process.pid)'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  expect((await once(child, 'message'))[0]).toBe(child.pid);
  await exited;
});

labTest('a shaped link carries at most its rate, and another one after slow()', async () => {
  await using lab = await createLab({ hosts: 2, rate: '100mbit' });
  const fast = await lab.goodput('h0', 'h1', 4 * MIB);
  expect(fast.bitsPerSecond).toBeLessThan(110e6);
  await lab.slow('h1', '20mbit');
  const slow = await lab.goodput('h0', 'h1', 2 * MIB);
  expect(slow.bitsPerSecond).toBeLessThan(25e6);
  expect(await say(lab, 'h1', 'tc qdisc show dev eth0')).toContain('20Mbit');
  expect(await say(lab, 'h0', 'tc qdisc show dev eth0')).toContain('100Mbit');
});

/** Bytes that a class of a host's link has sent: the first path that was slowed is class 10:2. */
async function sentByClass(lab: Netlab, host: string, id: string): Promise<number> {
  const classes = await say(lab, host, 'tc -s class show dev eth0');
  return Number(new RegExp(`class htb ${id} [^]*?Sent (\\d+) bytes`).exec(classes)![1]);
}

labTest('one slow path between two hosts does not affect the others', async () => {
  await using lab = await createLab({ hosts: 4, rate: '200mbit' });
  await lab.slowPath('h0', 'h1', '10mbit');
  await lab.slowPath('h0', 'h2', '50mbit');
  await lab.slowPath('h0', 'h1', '2mbit');
  for (const [from, to] of [
    ['h0', 'h1'],
    ['h1', 'h0'],
  ] as const) {
    expect((await lab.goodput(from, to, MIB / 2)).bitsPerSecond).toBeLessThan(5e6);
  }
  const slowed = await sentByClass(lab, 'h0', '10:2');
  expect(slowed).toBeGreaterThan(MIB / 2);
  await lab.goodput('h0', 'h3', 4 * MIB);
  // A packet or two to find the neighbour, and no packets to other hosts.
  expect((await sentByClass(lab, 'h0', '10:2')) - slowed).toBeLessThan(MIB / 16);
  expect(await sentByClass(lab, 'h0', '10:1')).toBeGreaterThan(4 * MIB);
  await lab.slowPath('h0', 'h1');
  expect(await say(lab, 'h0', 'tc class show dev eth0')).toMatch(/class htb 10:2 .*rate 100Gbit/);
  await using bare = await createLab({ hosts: 2 });
  await expect(bare.slowPath('h0', 'h1', '1mbit')).rejects.toMatchObject({
    code: 'ERR_RDMC_NETLAB_INVALID_OPTION',
  });
});

labTest('a link that is cut carries nothing until it is healed', async () => {
  await using lab = await createLab({ hosts: 3 });
  await listen(lab, 'h1');
  await listen(lab, 'h2');
  await lab.cut('h1');
  expect(await briefly(lab, 'h0', 'h1')).toBe('silence');
  expect(await patiently(lab, 'h0', 'h2')).toBe('reached');
  await lab.heal('h1');
  expect(await patiently(lab, 'h0', 'h1')).toBe('reached');
});

/** Bytes that left the first rack of this process's lab by its uplink. */
function bytesOfUplink(): number {
  const lab = namespaces().find((name) => name.endsWith('SWITCH'))!;
  const printed = execFileSync('ip', ['-n', lab, '-s', '-j', 'link', 'show', 'up0'], { encoding: 'utf8' });
  return JSON.parse(printed)[0].stats64.tx.bytes;
}

labTest('racks share the uplink; traffic inside a rack does not use it', async () => {
  await using lab = await createLab({ hosts: 4, racks: 2, uplink: { rate: '20mbit' } });
  await lab.goodput('h0', 'h1', 8 * MIB);
  expect(bytesOfUplink()).toBeLessThan(MIB / 16);
  const started = performance.now();
  await Promise.all([lab.goodput('h0', 'h2', 2 * MIB), lab.goodput('h1', 'h3', 2 * MIB)]);
  expect(bytesOfUplink()).toBeGreaterThan(4 * MIB);
  // Through one uplink go 4 MiB in no less than 1.6 s; side by side they would take half of that.
  expect(performance.now() - started).toBeGreaterThan(1500);
  await listen(lab, 'h2');
  await lab.cutRack(1);
  expect(await briefly(lab, 'h0', 'h2')).toBe('silence');
  expect(await patiently(lab, 'h3', 'h2')).toBe('reached');
  await lab.healRack(1);
  expect(await patiently(lab, 'h0', 'h2')).toBe('reached');
  await lab.slowRack(1, '4mbit');
  expect((await lab.goodput('h0', 'h2', MIB)).bitsPerSecond).toBeLessThan(10e6);
});

labTest('goodput can be aborted', async () => {
  await using lab = await createLab({ hosts: 2 });
  await lab.cut('h1');
  const abandoned = lab.goodput('h0', 'h1', MIB, { signal: AbortSignal.timeout(200) });
  await expect(abandoned).rejects.toMatchObject({ name: 'TimeoutError' });
});

labTest('pause stops a host’s processes, resume continues them', async () => {
  await using lab = await createLab({ hosts: 2 });
  const child = lab.exec('h0', 'cat', [], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin!.write('before\n');
  expect(String((await once(child.stdout!, 'data'))[0])).toBe('before\n');
  expect(lab.processes('h0')).toEqual([child.pid]);
  expect(lab.processes('h1')).toEqual([]);
  const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(child.pid)], { encoding: 'utf8' })[0];
  lab.pause('h0');
  // It stops when it is scheduled next.
  while (state() !== 'T') await new Promise((resolve) => setTimeout(resolve, 10));
  lab.resume('h0');
  child.stdin!.write('after\n');
  expect(String((await once(child.stdout!, 'data'))[0])).toBe('after\n');
});

labTest(
  'destroy kills all processes in the hosts, also children of children, and leaves nothing behind',
  async () => {
    const lab = await createLab({ hosts: 3, rate: '1gbit' });
    const child = lab.exec('h2', 'sh', ['-c', 'setsid sleep 1000 & echo $!; sleep 1000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const grandchild = Number(String((await once(child.stdout!, 'data'))[0]));
    const exited = once(child, 'exit');
    await lab.destroy();
    expect(await exited).toEqual([null, 'SIGKILL']);
    expect(existsSync(`/proc/${grandchild}/ns/net`)).toBe(false);
    expect(namespaces().filter((name) => name.startsWith(`netlab.${lab.name}.`))).toEqual([]);
    expect(readdirSync('/etc/netns').filter((name) => name.startsWith(`netlab.${lab.name}.`))).toEqual([]);
    expect(findLabs().map((each) => each.name)).not.toContain(lab.name);
    await lab.destroy();
    expect(() => lab.exec('h0', 'true')).toThrow(expect.objectContaining({ code: 'ERR_RDMC_NETLAB_CLOSED' }));
  },
);

labTest('a name can be used once; a failure leaves nothing behind', async () => {
  const name = `twice-${process.pid}`;
  await using lab = await createLab({ hosts: 1, name });
  await expect(createLab({ hosts: 1, name })).rejects.toMatchObject({ code: 'ERR_RDMC_NETLAB_NAME_TAKEN' });
  expect(await say(lab, 'h0', 'echo still here')).toBe('still here');
});

if (!netem) {
  labTest('a kernel without netem gets an error that names netem, and the link keeps its shape', async () => {
    const lacks = {
      code: 'ERR_RDMC_NETLAB_KERNEL_MODULE_MISSING',
      message: expect.stringContaining('sch_netem'),
    };
    const before = namespaces().length;
    await expect(createLab({ hosts: 2, rate: '1gbit', delay: '5ms' })).rejects.toMatchObject(lacks);
    expect(namespaces()).toHaveLength(before);
    await using lab = await createLab({ hosts: 2, rate: '30mbit' });
    await expect(lab.loss('h0', '1%')).rejects.toMatchObject(lacks);
    expect(await say(lab, 'h0', 'tc qdisc show dev eth0')).toContain('tbf');
  });
}

netemTest('delay and loss are before the shaper', async () => {
  // An answer to a connection request comes after four directions of 100 ms.
  await using lab = await createLab({ hosts: 2, rate: '100mbit', delay: '100ms' });
  await listen(lab, 'h1');
  expect(await briefly(lab, 'h0', 'h1')).toBe('silence');
  for (const host of ['h0', 'h1']) await lab.delay(host, '1ms');
  expect(await patiently(lab, 'h0', 'h1')).toBe('reached');
  expect(await say(lab, 'h0', 'tc qdisc show dev eth0')).toMatch(/netem(.|\n)*tbf.*100Mbit/);
  await lab.loss('h1', '100%');
  expect(await briefly(lab, 'h0', 'h1')).toBe('silence');
});

labTest('a child that cannot start raises an error event, as with spawn', async () => {
  await using lab = await createLab({ hosts: 1 });
  const child = lab.exec('h0', 'true', [], { cwd: '/no/such/folder' });
  const [error] = (await once(child, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ENOENT');
});

labTest(
  'hosts of a large lab know the hardware addresses of the others, which the kernel has no room to learn',
  async () => {
    await using lab = await createLab({ hosts: 24 });
    const known = await say(lab, 'h0', 'ip neigh show nud permanent dev eth0');
    expect(known.split('\n')).toHaveLength(2 * 23);
    const address = await say(lab, 'h23', 'cat /sys/class/net/eth0/address');
    expect(known).toContain(`10.77.0.24 lladdr ${address}`);
    expect(known).toContain(`fd77::18 lladdr ${address}`);
    await listen(lab, 'h23');
    expect(await patiently(lab, 'h0', 'h23')).toBe('reached');
  },
);
