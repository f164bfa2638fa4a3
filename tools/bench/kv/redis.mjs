// The key-value store beside Redis, in one run: node tools/bench/kv/redis.mjs [--seconds 3] [--rounds 2] [--cases 1x1,30x1]
// Redis (Debian's redis-server) as one primary with three replicas, in memory, SET then WAIT 3; ours as a cluster of four
// servers with three backups of every write, one of which has all keys and serves the same clients the same commands;
// both unreplicated too. Redis's WAIT is weaker: after a failover what was acknowledged may be gone, and it may answer with fewer replicas.
// Needs the built dist, and redis-server.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const command = fileURLToPath(new URL('../../../apps/kv/dist/main.js', import.meta.url));
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    cases: { type: 'string', default: '1x1,30x1,50x1,1x16,1x100' },
    'window-ms': { type: 'string', default: '50' },
  },
});
/** clients x batch, with commas. */
const CASES = values.cases.split(',').map((text) => {
  const [clients, batch] = text.split('x').map(Number);
  return { clients, batch };
});
const children = [];
const directory = mkdtempSync(join(tmpdir(), 'kv-redis-'));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function redis(port, more = []) {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...more];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'], cwd: directory });
  children.push(child);
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  child.stdout.resume();
}

async function replicatedRedis() {
  const port = await freePort();
  await redis(port, ['--repl-diskless-sync-delay', '0']);
  for (let i = 0; i < 3; i += 1) {
    await redis(await freePort(), ['--replicaof', '127.0.0.1', String(port)]);
  }
  const socket = connect(port, '127.0.0.1');
  for (;;) {
    socket.write('WAIT 3 100\r\n');
    const [answer] = await once(socket, 'data');
    if (String(answer) === ':3\r\n') break;
  }
  socket.destroy();
  return port;
}

function member(args) {
  const child = fork(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  children.push(child);
  return child;
}

async function event(child, name) {
  for (;;) {
    const [message] = await once(child, 'message');
    if (message[name] !== undefined) return message[name];
  }
}

async function ours() {
  const ports = await Promise.all(Array.from({ length: 5 }, freePort));
  const common = ['-m', ports.map((port) => `127.0.0.1:${port}`).join(','), '-d', join(directory, 'ours')];
  const coordinator = member(['coordinator', ...common]);
  const serving = event(coordinator, 'serving');
  const polling = ['--window-ms', values['window-ms']];
  const servers = [1, 2, 3, 4].map((id) =>
    member(['server', ...common, '-i', String(id), '-p', '0', ...polling]),
  );
  const [port] = await Promise.all(servers.map((server) => event(server, 'ready')));
  await serving;
  return port;
}

async function alone() {
  const server = member(['server', '-r', '0', '-p', '0']);
  return event(server, 'ready');
}

/** Keys of the server itself only: its clients are those of one primary. */
async function measure(port, { clients, batch }, wait) {
  const args = [
    'bench',
    '--connect',
    `127.0.0.1:${port}`,
    '-w',
    'write-only',
    '--records',
    '20000',
    '--json',
  ];
  args.push('-c', clients, '-b', batch, '-t', values.seconds, '--wait', wait, '--no-fill', '--one-primary');
  const child = spawn(process.execPath, [command, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text);
}

try {
  const subjects = [
    ['Redis, SET + WAIT 3', await replicatedRedis(), 3],
    ['kv, SET + WAIT 3, 4 servers', await ours(), 3],
  ];
  const single = await freePort();
  await redis(single);
  subjects.push(['Redis, alone', single, 0], ['kv --replicas 0', await alone(), 0]);
  console.log(
    'clients batch  subject                          sets/s     p50 µs   p99 µs  errors  short WAITs',
  );
  for (const shape of CASES) {
    for (const [name, port, wait] of subjects) {
      const rounds = [];
      for (let i = 0; i < Number(values.rounds); i += 1) rounds.push(await measure(port, shape, wait));
      rounds.sort((a, b) => b.perSecond - a.perSecond);
      const [{ perSecond, p50, p99, errors, shortWaits }] = rounds;
      console.log(
        `${String(shape.clients).padStart(7)} ${String(shape.batch).padStart(5)}  ${name.padEnd(30)} ${String(perSecond).padStart(9)}` +
          `  ${String(p50).padStart(8)} ${String(p99).padStart(8)}  ${String(errors).padStart(6)}  ${shortWaits}`,
      );
    }
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}
