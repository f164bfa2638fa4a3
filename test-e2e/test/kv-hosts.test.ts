/** The README's commands on several hosts, each a network namespace, under a key: needs the built dist, root and iproute2. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLab, type Netlab, NetlabError } from '@rdmc/netlab';
import { temporaryDirectory, underTest, WatchedProcess } from '@rdmc/testing';
import { expect, it } from 'vitest';

const KV = fileURLToPath(new URL('../../apps/kv/dist/main.js', import.meta.url));
const HOSTS = 4;

const obstacle = await createLab({ hosts: 2 }).then(
  (lab) => lab.destroy(),
  (error: unknown) => {
    if (error instanceof NetlabError) return error.message;
    throw error;
  },
);

interface Said {
  readonly line: string;
}

/** A process on a host, with its lines of output. */
class Member extends WatchedProcess<Said, 'line'> {
  constructor(child: ChildProcess, args: readonly string[]) {
    super(child, 'line', { name: args.join(' '), parse: (line) => ({ line }) });
    underTest(this);
  }

  /** The number of the line after the first that fits, from that number on. */
  says(pattern: RegExp, from = 0): Promise<number> {
    const found = (): number =>
      this.events.findIndex(({ line }, index) => index >= from && pattern.test(line)) + 1;
    return this.until(() => found() || undefined, String(pattern));
  }
}

/** What redis-cli would send and get, from a host. */
async function ask(lab: Netlab, from: string, to: string, commands: readonly string[]): Promise<string> {
  const script = `
    const socket = require('node:net').connect(6379, '${to}');
    socket.write(${JSON.stringify(`${[...commands, 'QUIT'].join('\r\n')}\r\n`)});
    socket.pipe(process.stdout);
    socket.on('error', (error) => { console.error(error); process.exit(1); });`;
  const child = lab.exec(from, process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(child, 'close');
  return text;
}

it.skipIf(obstacle !== undefined)(
  'four hosts under a key serve clients of any host, and go on when one is lost (needs root and iproute2)',
  async () => {
    const lab = await createLab({ hosts: HOSTS });
    const directory = temporaryDirectory('kv-hosts');
    try {
      const keyFile = join(directory, 'key');
      writeFileSync(keyFile, '0123456789abcdef'.repeat(4), { mode: 0o600 });
      const addresses = lab.hosts.map(({ ipv4 }) => ipv4);
      const list = [`${addresses[0]}:7400`, ...addresses.map((address) => `${address}:7401`)].join(',');
      const common = ['--members', list, '--key-file', keyFile, '--directory', directory];
      const start = (host: string, args: readonly string[]): Member =>
        new Member(
          lab.exec(host, process.execPath, [KV, ...args, ...common, '--join-seconds', '120'], {
            stdio: ['ignore', 'pipe', 'pipe'],
          }),
          args,
        );
      const coordinator = start('h0', ['coordinator']);
      const servers = lab.hosts.map(({ name, ipv4 }, index) =>
        start(name, [
          'server',
          '--id',
          String(index + 1),
          '--host',
          ipv4,
          '--no-protected-mode',
          '--port',
          '6379',
          '--replicas',
          '2',
        ]),
      );
      const served = await coordinator.says(/^all slots are served/);
      const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
      const sets = keys.map((key) => `SET ${key} of-${key}`);
      expect(await ask(lab, 'h2', addresses[0]!, sets)).toBe('+OK\r\n'.repeat(51));
      servers[3]!.child.kill('SIGKILL');
      await coordinator.says(/^all slots are served/, served);
      const values = await ask(
        lab,
        'h3',
        addresses[1]!,
        keys.map((key) => `GET ${key}`),
      );
      for (const key of keys) expect(values).toContain(`\r\nof-${key}\r\n`);
    } finally {
      await lab.destroy();
    }
  },
  240_000,
);
