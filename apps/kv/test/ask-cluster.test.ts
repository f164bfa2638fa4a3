/** What `kv admin` does where servers do not answer, or answer with an error. The servers are sockets of this test. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { askCluster } from '../src/cli/ask-cluster.js';
import type { Endpoint } from '../src/values.js';

/** How long a server that never answers holds up a test in which another one must answer in that time. */
const PATIENT_SECONDS = 5;
/** Where no server answers at all. */
const HASTY_SECONDS = 0.2;
const STATUS = '+{"asked":2}\r\n';

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Answers PING and one request of `kv admin`; undefined: it does not answer; null: it ends the connection. */
async function serverThat(answers: { ping?: string; admin?: string | null }): Promise<Endpoint> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const isAdmin = text.includes('rdmc.admin');
      const answer = isAdmin ? answers.admin : answers.ping;
      if (answer === null) socket.destroy();
      else if (answer !== undefined) socket.write(answer);
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const ask = (connect: Endpoint[], answerSeconds: number, ...words: string[]): Promise<unknown> =>
  askCluster({ connect, answerSeconds }, words);
const answering = (): Promise<Endpoint> => serverThat({ ping: '+PONG\r\n', admin: STATUS });

it.concurrent('a server that accepts connections and does not answer is followed by the next one, for orders too', async () => {
  const silent = await serverThat({});
  const next = await answering();
  const asked = ['STATUS', 'DRAIN'].map((word) => ask([silent, next], PATIENT_SECONDS, word));
  expect(await Promise.all(asked)).toEqual([{ asked: 2 }, { asked: 2 }]);
}, 60_000);

it.concurrent('a server whose answer to a question does not come is followed by the next one, and one that ends', async () => {
  const stopped = await serverThat({ ping: '+PONG\r\n' });
  const next = await answering();
  expect(await ask([stopped, next], PATIENT_SECONDS, 'STATUS')).toEqual({ asked: 2 });
  const ends = await serverThat({ ping: '+PONG\r\n', admin: null });
  expect(await ask([ends, next], PATIENT_SECONDS, 'REMOVE', '3')).toEqual({ asked: 2 });
}, 60_000);

it.concurrent('where none answers, the error has the reason of each', async () => {
  const silent = await serverThat({});
  const full = await serverThat({ ping: '-ERR max number of clients reached\r\n' });
  const ends = await serverThat({ ping: '+PONG\r\n', admin: null });
  const at = ({ port }: Endpoint): string => `no server answers at 127.0.0.1:${port}: `;
  await expect(ask([silent], HASTY_SECONDS, 'STATUS')).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_UNREACHABLE',
    message: `${at(silent)}it did not answer within ${HASTY_SECONDS} s`,
  });
  // Before the connection is made: the handshake of TLS is a part of it.
  const connecting = askCluster({ connect: [silent], answerSeconds: HASTY_SECONDS, tls: true }, ['STATUS']);
  await expect(connecting).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_UNREACHABLE',
    message: `${at(silent)}it did not answer within ${HASTY_SECONDS} s`,
  });
  await expect(ask([full, ends, silent], PATIENT_SECONDS, 'STATUS')).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_UNREACHABLE',
    message: [
      `${at(full)}ERR max number of clients reached`,
      `${at(ends)}the connection to the server ended`,
      `${at(silent)}it did not answer within ${PATIENT_SECONDS} s`,
    ].join('; '),
  });
}, 60_000);

it('an answer that is an error keeps its code, and ends the search', async () => {
  const next = await answering();
  const codeOf = async (admin: string): Promise<[string, string]> => {
    const server = await serverThat({ ping: '+PONG\r\n', admin });
    const error = await ask([server, next], PATIENT_SECONDS, 'STATUS').catch((thrown: unknown) => thrown);
    const { code, message } = error as { code: string; message: string };
    return [code, message];
  };
  expect(await codeOf('-ERR ERR_RDMC_STATE_UNREACHABLE etcd is away\r\n')).toEqual([
    'ERR_RDMC_STATE_UNREACHABLE',
    'etcd is away',
  ]);
  expect(await codeOf('-ERR ERR_RDMC_KV_SERVER_NEEDED no\r\n')).toEqual(['ERR_RDMC_KV_SERVER_NEEDED', 'no']);
  expect((await codeOf("-ERR unknown command 'rdmc.admin'\r\n"))[0]).toBe('ERR_RDMC_KV_PROTOCOL');
});
