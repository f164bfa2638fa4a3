import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh';

const program = process.env.RDMC_TEST_ETCD || 'etcd';

/** Why tests with etcd are left out, or false. */
export const noEtcd: string | false =
  spawnSync(program, ['--version']).status === 0
    ? false
    : 'left out: apt-get install etcd-server, or RDMC_TEST_ETCD=PATH of one';

/** An etcd of one member on loopback, in a process of its own. */
export class Etcd {
  private constructor(
    readonly endpoint: string,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  static async start(): Promise<Etcd> {
    const reserved = await reserveLoopbackPorts(2);
    for (const { server } of reserved) {
      server.close();
      await once(server, 'close');
    }
    const [client, peer] = reserved.map(({ port }) => `http://127.0.0.1:${port}`) as [string, string];
    const directory = mkdtempSync(join(tmpdir(), 'kv-etcd-'));
    const args = ['--name', 'one', '--data-dir', directory, '--initial-cluster', `one=${peer}`];
    args.push('--listen-client-urls', client, '--advertise-client-urls', client);
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
    const child = spawn(program, args, { stdio: 'ignore', env: { PATH: process.env.PATH } });
    const etcd = new Etcd(client, child, directory);
    await etcd.#ready();
    return etcd;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** It answers when it serves. */
  async #ready(): Promise<void> {
    let answered = false;
    while (!answered) {
      if (this.child.exitCode !== null) throw new Error(`etcd ended with code ${this.child.exitCode}`);
      const health = await fetch(`${this.endpoint}/health`).catch(() => undefined);
      answered = health?.ok ?? false;
      if (!answered) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
