/** Servers as processes that are stopped, not killed: needs the built dist. */
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { tagOf } from '../src/bench/load.js';
import { LocalCluster } from '../src/demo/processes.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));

it('a server that was stopped while others took its keys over serves none of them when it goes on', async () => {
  const directory = temporaryDirectory('kv-fenced');
  const cluster = await LocalCluster.start({
    servers: 4,
    directory,
    command,
    // Three are left: a primary and two backups.
    serverArguments: ['--window-ms', '0', '--replicas', '2', '--segment-mib', '4', '--buffers', '12'],
  });
  try {
    const [first, last] = await Promise.all(
      [cluster.ports[0]!, cluster.ports[3]!].map((port) => RawClient.connect(port)),
    );
    // Its own keys: what it would have to forward waits for others, and holds up what comes after.
    const tag = await tagOf(
      { host: '127.0.0.1', port: cluster.ports[3]! },
      { password: undefined, tls: undefined },
    );
    const keys = Array.from({ length: 100 }, (_, i) => `${tag}:${i}`);
    for (const key of keys) expect(await first!.command('SET', key, 'old')).toBe('+OK\r\n');
    const victim = cluster.servers[3]!;
    const seen = cluster.coordinator.eventCount;
    victim.signal('SIGSTOP');
    await cluster.coordinator.until(({ recovered }) => recovered, seen);
    for (const key of keys) expect(await first!.command('SET', key, 'new')).toBe('+OK\r\n');
    // Asked while it was stopped, answered when it goes on.
    const before = last!.received.length;
    for (const key of keys) last!.send(`GET ${key}\r\n`);
    victim.signal('SIGCONT');
    await last!.until(() => false);
    const answers = last!.received.slice(before);
    expect(answers).not.toContain('old');
    // It was asked, and it refused; or it had ended before it read that.
    expect(answers).toMatch(/^(-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED |$)/);
    expect(await victim.until(({ ended }) => ended)).toMatch(/^ERR_RDMC_/);
    for (const key of keys) expect(await first!.command('GET', key)).toBe('$3\r\nnew\r\n');
  } finally {
    await cluster.stop();
  }
});
