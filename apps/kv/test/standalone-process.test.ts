/** `kv` as a command, without a cluster: needs the built dist. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { MemberProcess } from '../src/demo/processes.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));

async function start(): Promise<{ server: MemberProcess; port: number }> {
  const server = new MemberProcess('server', ['server', '--replicas', '0', '--port', '0'], command);
  onTestFinished(() => server.kill('SIGKILL'));
  return { server, port: await server.until(({ ready }) => ready) };
}

it('--version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { stdout, status } = spawnSync(process.execPath, [command, '--version'], { encoding: 'utf8' });
  expect([stdout, status]).toEqual([`${version}\n`, 0]);
});

it('ends with 1, and names the cause, where the disk of standard output is full', () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const { stderr, status } = spawnSync(process.execPath, [command, '--help'], {
    encoding: 'utf8',
    stdio: ['ignore', full, 'pipe'],
  });
  expect(stderr).toBe('error ENOSPC: cannot write standard output: no space left on device\n');
  expect(status).toBe(1);
});

it('ends with 0 after SIGTERM, and names the address that another server has', async () => {
  const { server, port } = await start();
  const args = ['server', '--replicas', '0', '--port', String(port)];
  const second = spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
  expect(second.stderr).toMatch(
    new RegExp(`^error ERR_RDMC_KV_LISTEN_FAILED: cannot listen for clients at 127.0.0.1:${port}: [^\n]*\n$`),
  );
  expect(second.status).toBe(1);
  await server.kill('SIGTERM');
  expect(server.exit).toBe('code 0');
});

it('ends with 2 where the variable of the password is empty, as that of a secret that is not set', async () => {
  const args = [command, 'server', '--replicas', '0', '--port', '0', '--host', '0.0.0.0'];
  const env = { ...process.env, RDMC_KV_PASSWORD: '' };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  expect(await text(child.stderr!)).toMatch(/^error ERR_RDMC_KV_UNPROTECTED: the password is empty[^\n]*\n$/);
  expect(await exited).toEqual([2, null]);
});

it('ends with 0 after SHUTDOWN, without a reply', async () => {
  const { server, port } = await start();
  const client = await RawClient.connect(port);
  client.send('PING\r\nSHUTDOWN ABORT\r\nSHUTDOWN NOSAVE\r\n');
  expect(await client.until(() => false)).toBe('+PONG\r\n-ERR No shutdown in progress.\r\n');
  await server.ended();
  expect(server.exit).toBe('code 0');
});

it('ends with 0 when the process that forked it has ended, with the reader of its output', async () => {
  const child = spawn(process.execPath, [command, 'server', '--replicas', '0', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [exited, errors] = [once(child, 'exit'), text(child.stderr!)];
  child.disconnect();
  child.stdout!.destroy();
  expect(await exited).toEqual([0, null]);
  expect(await errors).toBe('');
});
