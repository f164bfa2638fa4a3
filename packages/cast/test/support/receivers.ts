import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type FileReceiver, type ReceiveOptions, type ReceiverEvent, receiveFiles } from '@rdmc/cast';
import { closedAfterTest, temporaryDirectory, underTest, WatchedProcess } from '@rdmc/testing';

// Built code: a child process cannot load TypeScript. `npm run build -w @rdmc/cast` comes first.
const fixture = fileURLToPath(new URL('../fixtures/receiver.mjs', import.meta.url));

type Told = ReceiverEvent | { type: 'ended' } | { type: 'listening'; host: string; port: number };

/** A receiver in a separate process. */
export class ReceiverProcess extends WatchedProcess<Told, 'type'> {
  private constructor(
    child: ChildProcess,
    readonly directory: string,
  ) {
    super(child, 'type', { name: 'the receiver' });
  }

  static async start(
    options: Partial<ReceiveOptions> = {},
    uid?: number,
    env: NodeJS.ProcessEnv = {},
  ): Promise<ReceiverProcess> {
    const directory = options.directory ?? temporaryDirectory();
    const all = { port: 0, ...options, directory };
    const child = fork(fixture, [JSON.stringify(all)], {
      silent: true,
      env: { ...process.env, ...env },
      ...(uid !== undefined && { uid, gid: uid }),
    });
    const receiver = underTest(new ReceiverProcess(child, directory));
    await receiver.event('listening');
    return receiver;
  }

  get address(): { host: string; port: number } {
    const { host, port } = this.named('listening')[0]!;
    return { host, port };
  }
}

/** Receivers in this process. */
export async function startReceivers(count: number, options: Partial<ReceiveOptions> = {}) {
  const started = Array.from({ length: count }, async () => {
    const directory = temporaryDirectory();
    const receiver = closedAfterTest(await receiveFiles({ directory, port: 0, ...options }));
    return { receiver, directory, to: receiver.address };
  });
  return Promise.all(started);
}

/** Everything a receiver says until its first cast is over. */
export async function outcome(receiver: FileReceiver): Promise<ReceiverEvent> {
  for await (const event of receiver) if (event.type === 'complete' || event.type === 'failed') return event;
  throw new Error('the receiver was closed');
}

/** Names of temporary directories of casts in progress, or of killed receivers. */
export function temporaries(directory: string): string[] {
  return hidden(directory).filter((name) => !name.startsWith('.rdmc-cast-kept-'));
}

/** Names of directories that interrupted casts have left. */
export function leftovers(directory: string): string[] {
  return hidden(directory).filter((name) => name.startsWith('.rdmc-cast-kept-'));
}

/** Names of everything else. */
export function visible(directory: string): string[] {
  return readdirSync(directory).filter((name) => !name.startsWith('.rdmc-cast-'));
}

function hidden(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.startsWith('.rdmc-cast-'));
}
