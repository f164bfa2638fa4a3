import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

const LOOK_MS = 50;

/** An etcd of one member on loopback, for a demonstration: its state is lost with it. */
export class EtcdProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly endpoint: string,
  ) {}

  /** Resolves when it serves; undefined where this machine does not have etcd, or where it ends. */
  static async start(directory: string): Promise<EtcdProcess | undefined> {
    const reserved = await reserveLoopbackPorts(2);
    for (const { server } of reserved) server.close();
    const [client, peer] = reserved.map(({ host, port }) => `http://${host}:${port}`) as [string, string];
    const args = [
      ...['--name', 'demo', '--data-dir', join(directory, 'etcd')],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...[
        '--listen-peer-urls',
        peer,
        '--initial-advertise-peer-urls',
        peer,
        '--initial-cluster',
        `demo=${peer}`,
      ],
    ];
    const child = spawn('etcd', args, { stdio: 'ignore' });
    const ended = new Promise<undefined>((resolve) => {
      child.once('error', () => resolve(undefined));
      child.once('exit', () => resolve(undefined));
    });
    const serving = (async (): Promise<EtcdProcess | undefined> => {
      while (child.exitCode === null && child.pid !== undefined) {
        const answer = await fetch(`${client}/health`).catch(() => undefined);
        if (answer?.ok) return new EtcdProcess(child, client);
        await delay(LOOK_MS);
      }
      return undefined;
    })();
    return Promise.race([serving, ended]);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}
