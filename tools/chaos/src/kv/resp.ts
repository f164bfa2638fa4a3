import { connect } from 'node:net';

/** A server's reply; `error` for an error reply. */
export type Reply = { readonly value: string | number | null } | { readonly error: string };
/** Nobody listens at the port: the command was certainly not carried out. */
export const NOT_SENT = 'not sent';

/** Where a server listens: on this machine, or behind the gate of a lab (./gate.ts). */
export interface Door {
  readonly port: number;
  readonly gate?: string | undefined;
}

/**
 * One command on its own connection, in RESP2. Undefined without a complete reply: then the outcome is unknown.
 */
export function command(
  { port, gate }: Door,
  words: readonly string[],
  timeoutMs: number,
): Promise<Reply | typeof NOT_SENT | undefined> {
  return new Promise((resolve) => {
    const socket = gate === undefined ? connect({ host: '127.0.0.1', port }) : connect(gate);
    if (gate !== undefined) socket.write(Buffer.from(Uint16Array.of(port).buffer));
    let received = Buffer.alloc(0);
    const end = (reply: Reply | typeof NOT_SENT | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(reply);
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      end(code === 'ECONNREFUSED' ? NOT_SENT : undefined),
    );
    socket.on('close', () => end(undefined));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const reply = decode(received);
      if (reply) end(reply);
    });
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${parts.join('')}`);
  });
}

/** The first reply; undefined while it is incomplete. */
export function decode(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf('\r\n');
  if (end < 0) return undefined;
  const [type, line] = [bytes.toString('latin1', 0, 1), bytes.toString('utf8', 1, end)];
  if (type === '+') return { value: line };
  if (type === ':') return { value: Number(line) };
  if (type === '-') return { error: line };
  if (type !== '$') return { error: `unknown type of reply: ${type}${line}` };
  const length = Number(line);
  if (length < 0) return { value: null };
  const from = end + 2;
  return bytes.length < from + length + 2
    ? undefined
    : { value: bytes.toString('utf8', from, from + length) };
}
