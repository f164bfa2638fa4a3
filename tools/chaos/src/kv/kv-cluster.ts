import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed } from '@rdmc/testing/members';
import { KvProcess } from './kv-server.js';

/** The built command. */
const require = createRequire(import.meta.url);
const KV = join(dirname(require.resolve('@rdmc/kv/package.json')), 'dist', 'main.js');

export interface KvShape {
  readonly servers: number;
  readonly replicas: number;
}

/** `kv coordinator` and `kv server` as processes, with the same addresses and files after every start. */
export class KvCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'rdmc-chaos-kv-'));
  coordinator!: KvProcess;
  servers: readonly KvProcess[] = [];
  #members: string | undefined;
  #isRemoved = false;

  constructor(private readonly shape: KvShape) {}

  /** The processes that were started. */
  get processes(): KvProcess[] {
    return [...this.servers, this.coordinator].filter((each) => each !== undefined);
  }

  /** @param environment returns the variables of one server, by its number from 1 */
  async start(environment: (server: number) => Record<string, string> = () => ({})): Promise<void> {
    this.#members ??= await reserve(this.shape.servers + 1);
    if (this.#isRemoved) throw new Error('the cluster was removed before it was started');
    const common = ['--members', this.#members, '--directory', this.directory, '--join-seconds', '120'];
    const start = (name: string, args: readonly string[], env = {}): KvProcess =>
      new KvProcess(
        name,
        spawn(process.execPath, [KV, ...args], {
          stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
          env: { ...process.env, ...env },
        }),
      );
    this.coordinator = start('coordinator', ['coordinator', ...common]);
    this.servers = Array.from({ length: this.shape.servers }, (_, index) => {
      const own = ['--id', String(index + 1), '--port', '0', '--replicas', String(this.shape.replicas)];
      // Servers that poll take the processors from the others.
      const small = ['--segment-mib', '4', '--segments', '16', '--buffers', '12', '--window-ms', '0'];
      return start(`server ${index + 1}`, ['server', ...common, ...own, ...small], environment(index + 1));
    });
    await Promise.all([...this.servers.map(({ ready }) => ready), this.coordinator.serving]);
  }

  /** Ends all processes with SIGTERM: backups dump their buffers. */
  async powerFailure(): Promise<void> {
    await Promise.all(this.processes.map((each) => each.kill('SIGTERM')));
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    await Promise.all(this.processes.map((each) => each.kill('SIGKILL')));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function reserve(count: number): Promise<string> {
  const members = await freed(await reserveLoopbackPorts(count));
  return members.map(({ host, port }) => `${host}:${port}`).join(',');
}
