/** A signal that comes before a server has started: needs the built dist. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed } from '@rdmc/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Topic } from '../src/cluster/messages.js';
import { MemberProcess } from '../src/demo/processes.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** For a test that hangs. */
const LIMIT_MS = 400_000;

/** The coordinator of this process does not answer the registration of this server. */
function holdRegistration(server: number): void {
  const { onRequest } = Mesh.prototype;
  vi.spyOn(Mesh.prototype, 'onRequest').mockImplementation(function (this: Mesh, topic, handler) {
    if (topic !== Topic.REGISTER) return onRequest.call(this, topic, handler);
    return onRequest.call(this, topic, (from, body) =>
      from === server ? new Promise(() => {}) : handler(from, body),
    );
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
}

it('a server that ends while it starts writes what it keeps for others to files', {
  timeout: LIMIT_MS,
}, async () => {
  holdRegistration(7);
  const cluster = await TestCluster.start(2, { replicas: 1 });
  onTestFinished(() => cluster.close());
  const [first, second] = cluster.servers;
  const [free] = await freed(await reserveLoopbackPorts(1));
  const starting = new MemberProcess(
    'server 7',
    `server --id 7 --join 127.0.0.1:${first!.port} --listen 127.0.0.1:${free!.port} --port 0 --replicas 1 --segment-mib 4
      --segments 16 --buffers 16 --window-ms 0 --directory ${cluster.directory}`.split(/\s+/),
    command,
  );
  onTestFinished(() => starting.kill('SIGKILL'));
  const recovered = cluster.recovered(1);
  await second!.close();
  await recovered;
  const client = await RawClient.connect(first!.port);
  // The only backup that is left is that of the server that starts.
  const write = () => client.command('SET', 'key', 'a value that must not be lost');
  await expect.poll(write, { timeout: LIMIT_MS }).toBe('+OK\r\n');
  expect(starting.eventsFrom(0).filter(({ ready }) => ready !== undefined)).toEqual([]);
  await starting.kill('SIGTERM');
  expect(starting.exit).toBe('code 0');
  const directory = join(cluster.directory, 'server-7');
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  const contents = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'));
  expect(contents.some((text) => text.includes('a value that must not be lost'))).toBe(true);
});
