// The servers that the benchmarks of kv compare: Redis, alone or with three replicas, and clusters of kv. Needs redis-server.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const children = [];
const directory = mkdtempSync(join(tmpdir(), 'kv-redis-'));
let clusters = 0;

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Redis at that port, in memory only; resolves with its process. */
export async function redis(port, more = []) {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...more];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'], cwd: directory });
  children.push(child);
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  child.stdout.resume();
  return child;
}

/** A primary with three replicas that are in step; resolves with its port. */
export async function replicatedRedis() {
  return (await startRedis()).port;
}

/** The same; resolves with the processes too, the primary first. */
export async function startRedis() {
  const port = await freePort();
  const servers = [await redis(port, ['--repl-diskless-sync-delay', '0'])];
  for (let i = 0; i < 3; i += 1) {
    servers.push(await redis(await freePort(), ['--replicaof', '127.0.0.1', String(port)]));
  }
  const socket = connect(port, '127.0.0.1');
  for (;;) {
    socket.write('WAIT 3 100\r\n');
    const [answer] = await once(socket, 'data');
    if (String(answer) === ':3\r\n') break;
  }
  socket.destroy();
  return { port, servers: servers.map(({ pid }) => ({ pid })) };
}

function member(command, args) {
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

/** A coordinator and four servers with three backups of every write; resolves with the port of the first server. */
export async function cluster(command, windowMs) {
  return (await startCluster(command, { more: polling(windowMs) })).port;
}

/** The same with so many servers; resolves with the port of each. */
export async function clusterOf(command, count, windowMs) {
  return (await startCluster(command, { count, more: polling(windowMs) })).ports;
}

function polling(windowMs) {
  return windowMs === undefined ? [] : ['--window-ms', windowMs];
}

/** The same with more arguments of its servers; resolves with their processes too. `events`: of each server, by its name. */
export async function startCluster(command, { count = 4, more = [], events = [] } = {}) {
  clusters += 1;
  const addresses = await Promise.all(Array.from({ length: count + 1 }, freePort));
  const members = addresses.map((port) => `127.0.0.1:${port}`).join(',');
  const common = ['-m', members, '-d', join(directory, `cluster-${clusters}`)];
  const coordinator = member(command, ['coordinator', ...common]);
  const serving = event(coordinator, 'serving');
  const servers = Array.from({ length: count }, (_, index) => index + 1).map((id) =>
    member(command, ['server', ...common, '-i', String(id), '-p', '0', ...more]),
  );
  const told = servers.map((server) =>
    Promise.all(events.map(async (name) => [name, await event(server, name)])),
  );
  const ports = await Promise.all(servers.map((server) => event(server, 'ready')));
  await serving;
  return {
    ports,
    port: ports[0],
    all: ports.map((port) => `127.0.0.1:${port}`).join(),
    servers: await Promise.all(
      servers.map(async (child, index) => ({ pid: child.pid, ...Object.fromEntries(await told[index]) })),
    ),
    stop() {
      for (const child of [coordinator, ...servers]) child.kill('SIGKILL');
    },
  };
}

/** One server without replication; resolves with its port. */
export async function alone(command) {
  return event(member(command, ['server', '-r', '0', '-p', '0']), 'ready');
}

/** A run of `kv bench` with these arguments against the server at that port; resolves with its result. */
export async function bench(command, port, args) {
  const all = [command, 'bench', '--connect', `127.0.0.1:${port}`, '--json', ...args.map(String)];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text);
}

/** Seconds of processor time that these processes have used, each with the threads that it has now. */
export function cpuSeconds(pids) {
  return pids.map((pid) =>
    readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + scheduled(pid, task).ran, 0),
  );
}

/** Seconds for which a thread has run, and has waited for a processor; the first thread of a process where none is given. */
export function scheduled(pid, task = pid) {
  try {
    const text = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8');
    const [ran, waited] = text.split(' ').map((nanoseconds) => Number(nanoseconds) / 1e9);
    return { ran, waited };
  } catch {
    // It has ended.
    return { ran: 0, waited: 0 };
  }
}

/** Ends all servers. */
export async function stop() {
  const ended = children.splice(0).map((child) => {
    child.kill('SIGKILL');
    return child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  });
  await Promise.all(ended);
}

/** Ends all servers, and removes their files. */
export function end() {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}
