import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type FileReceiver, type ReceiveOptions, type ReceiverEvent, receiveFiles } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach } from 'vitest';

// Built code: a child process cannot load TypeScript. `npm run build -w @rdmc/cast` comes first.
const fixture = fileURLToPath(new URL('../fixtures/receiver.mjs', import.meta.url));
const open: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

type Told = ReceiverEvent | { type: 'ended' } | { type: 'listening'; host: string; port: number };

/** A receiver in a process of its own. */
export class ReceiverProcess {
  readonly told: Told[] = [];
  readonly exited: Promise<unknown>;

  private constructor(
    readonly child: ChildProcess,
    readonly directory: string,
  ) {
    child.on('message', (message: Told) => {
      this.told.push(message);
      child.emit('told');
    });
    this.exited = once(child, 'exit');
  }

  static async start(
    options: Partial<ReceiveOptions> = {},
    uid?: number,
    env: NodeJS.ProcessEnv = {},
  ): Promise<ReceiverProcess> {
    const all = { directory: temporaryDirectory(), port: 0, ...options };
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    const child = fork(fixture, [JSON.stringify(all)], {
      stdio: [...stdio],
      env: { ...process.env, ...env },
      ...(uid !== undefined && { uid, gid: uid }),
    });
    const receiver = new ReceiverProcess(child, all.directory);
    open.push(() => receiver.kill());
    await receiver.event('listening');
    return receiver;
  }

  get address(): { host: string; port: number } {
    const { host, port } = this.told.find((each) => each.type === 'listening')!;
    return { host, port };
  }

  /** The first event of a kind; waits for it. */
  async event<T extends Told['type']>(type: T): Promise<Extract<Told, { type: T }>> {
    for (;;) {
      const found = this.told.find((each) => each.type === type);
      if (found) return found as Extract<Told, { type: T }>;
      if (this.child.exitCode !== null) throw new Error(`the receiver ended before '${type}'`);
      await Promise.race([once(this.child, 'told'), this.exited]);
    }
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }
}

/** Receivers in this process. */
export async function startReceivers(count: number, options: Partial<ReceiveOptions> = {}) {
  const started = Array.from({ length: count }, async () => {
    const directory = temporaryDirectory();
    const receiver = await receiveFiles({ directory, port: 0, ...options });
    open.push(() => receiver.close());
    return { receiver, directory, to: receiver.address };
  });
  return Promise.all(started);
}

/** Everything a receiver says until its first cast is over. */
export async function outcome(receiver: FileReceiver): Promise<ReceiverEvent> {
  for await (const event of receiver) if (event.type === 'complete' || event.type === 'failed') return event;
  throw new Error('the receiver was closed');
}

/** Names of temporary directories. */
export function temporaries(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith('.rdmc-cast-'));
}
