import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

/** A command's time for the log of slow ones, in microseconds: a stopped process must not make one. */
export const NEVER_SLOW_US = 1_000_000_000;

/** Debian's redis-server, in memory only, as what ours is compared with. */
export class RedisServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Undefined where it is not installed. */
  static async start(): Promise<RedisServer | undefined> {
    const [reserved] = await reserveLoopbackPorts(1);
    const { port, server } = reserved!;
    server.close();
    await once(server, 'close');
    const slow = ['--slowlog-log-slower-than', String(NEVER_SLOW_US)];
    const child = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...slow],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
        cwd: '/',
      },
    );
    const failed = once(child, 'error').then(() => false);
    let text = '';
    const ready = new Promise<boolean>((resolve) => {
      child.stdout!.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('Ready to accept connections')) resolve(true);
      });
    });
    return (await Promise.race([failed, ready])) ? new RedisServer(child, port) : undefined;
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill();
    await exited;
  }
}
