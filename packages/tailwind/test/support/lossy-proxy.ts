import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export const TLS_FILES = {
  certificate: fileURLToPath(new URL('../fixtures/tls/certificate.pem', import.meta.url)),
  key: fileURLToPath(new URL('../fixtures/tls/key.pem', import.meta.url)),
};

/** Forwards requests to an etcd; `losesAnswers` drops the answers, `before` runs before each request. */
export class LossyProxy {
  losesAnswers = false;
  /** Number of answers to drop. */
  answersToLose = 0;
  lost = 0;
  before: (path: string) => Promise<void> = async () => {};

  private constructor(
    readonly endpoint: string,
    private readonly server: Server,
  ) {}

  static async start(to: string): Promise<LossyProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const proxy = new LossyProxy(`http://127.0.0.1:${port}`, server);
    server.on('request', async (incoming, outgoing) => {
      await proxy.before(incoming.url!);
      const onward = request(new URL(incoming.url!, to), { method: 'POST' }, (answer) => {
        if (!proxy.losesAnswers && proxy.answersToLose === 0) {
          outgoing.writeHead(answer.statusCode!);
          answer.pipe(outgoing);
          return;
        }
        answer.resume().on('end', () => {
          proxy.lost += 1;
          proxy.answersToLose = Math.max(0, proxy.answersToLose - 1);
          incoming.socket.destroy();
        });
      });
      onward.on('error', () => incoming.socket.destroy());
      incoming.pipe(onward);
    });
    return proxy;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
