import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A self-signed certificate, with its key. */
const FILE = fileURLToPath(new URL('impostor.pem', import.meta.url));

export const impostorPem = readFileSync(FILE);

/** Environments in which TLS may trust the impostor. */
export const TRUSTING: readonly NodeJS.ProcessEnv[] = [
  {},
  { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  { NODE_EXTRA_CA_CERTS: FILE },
  { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_EXTRA_CA_CERTS: FILE },
];

export interface Impostor {
  readonly port: number;
  /** Data that clients sent to it. */
  readonly heard: Buffer[];
}

/** A server on loopback with a certificate and without the key; closed at the end of the test. */
export async function startImpostor(options: TlsOptions = {}): Promise<Impostor> {
  const heard: Buffer[] = [];
  const sockets: Socket[] = [];
  const pem = { key: impostorPem, cert: impostorPem };
  const server = createServer({ minVersion: 'TLSv1.3', ...options, ...pem }, (socket) => {
    socket.on('error', () => {}).on('data', (chunk: Buffer) => heard.push(chunk));
    sockets.push(socket);
  });
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, heard };
}
