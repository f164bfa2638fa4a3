import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

const LOOK_MS = 50;
/** An etcd that works serves within a second; on a busy machine or a slow disk after some. */
const LIMIT_MS = 30_000;

/** An etcd of one member on loopback, for a demonstration: its state is lost with it. */
export class EtcdProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly endpoint: string,
  ) {}

  /**
   * Resolves when it was begun: it may not serve yet, and this machine may not have etcd.
   * @throws the reason of `ended`
   */
  static async begin(directory: string, ended: AbortSignal): Promise<EtcdProcess> {
    const reserved = await reserveLoopbackPorts(2);
    for (const { server } of reserved) server.close();
    ended.throwIfAborted();
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
    // Where this machine does not have etcd: `isServing` says so.
    child.on('error', () => {});
    return new EtcdProcess(child, client);
  }

  /** Resolves when it serves, when it has ended, and after `limitMs`: whether it serves. */
  async isServing(limitMs = LIMIT_MS): Promise<boolean> {
    const limit = AbortSignal.timeout(limitMs);
    while (!this.#hasEnded && !limit.aborted) {
      const answer = await fetch(`${this.endpoint}/health`, { signal: limit }).catch(() => undefined);
      if (answer?.ok) return true;
      await delay(LOOK_MS);
    }
    return false;
  }

  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  get #hasEnded(): boolean {
    const { pid, exitCode, signalCode } = this.child;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }
}
