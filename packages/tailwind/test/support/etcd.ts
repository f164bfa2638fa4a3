import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh';

const program = process.env.RDMC_TEST_ETCD || 'etcd';

/** Why the tests on etcd are left out, or false. */
export const noEtcd: string | false =
  spawnSync(program, ['--version']).status === 0
    ? false
    : 'needs etcd: apt-get install etcd-server, or RDMC_TEST_ETCD=PATH of one';

export const TLS_FILES = {
  certificate: fileURLToPath(new URL('../fixtures/tls/certificate.pem', import.meta.url)),
  key: fileURLToPath(new URL('../fixtures/tls/key.pem', import.meta.url)),
};

/** An etcd of one member on loopback, in a process of its own. */
export class Etcd {
  private constructor(
    readonly endpoint: string,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  static async start({ tls = false } = {}): Promise<Etcd> {
    const reserved = await reserveLoopbackPorts(2);
    for (const { server } of reserved) {
      server.close();
      await once(server, 'close');
    }
    const [client, peer] = reserved.map(({ port }) => `127.0.0.1:${port}`);
    const directory = mkdtempSync(join(tmpdir(), 'tailwind-etcd-'));
    const endpoint = `${tls ? 'https' : 'http'}://${client}`;
    const { certificate, key } = TLS_FILES;
    const secured = [
      '--cert-file',
      certificate,
      '--key-file',
      key,
      '--client-cert-auth',
      '--trusted-ca-file',
      certificate,
    ];
    const child = spawn(
      program,
      [
        ...['--name', 'one', '--data-dir', directory, '--log-level', 'info', '--logger', 'zap'],
        ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
        ...['--listen-peer-urls', `http://${peer}`, '--initial-advertise-peer-urls', `http://${peer}`],
        ...['--initial-cluster', `one=http://${peer}`, ...(tls ? secured : [])],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH } },
    );
    const etcd = new Etcd(endpoint, child, directory);
    await etcd.#ready();
    return etcd;
  }

  /** One request to the gateway. */
  async ask(path: string, body: object): Promise<unknown> {
    const answer = await fetch(new URL(path, this.endpoint), { method: 'POST', body: JSON.stringify(body) });
    return answer.json();
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  #ready(): Promise<void> {
    let said = '';
    return new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('exit', () => reject(new Error(`etcd ended:\n${said}`)));
      this.child.stderr!.on('data', (text: Buffer) => {
        said = (said + text).slice(-20_000);
        if (/ready to serve client requests|serving (insecure )?client (requests|traffic)/i.test(said))
          resolve();
      });
    });
  }
}

/** Forwards to an etcd; `losesAnswers` carries requests out and says nothing, `before` goes ahead of each. */
export class LossyProxy {
  losesAnswers = false;
  /** So many answers are lost, then no more. */
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
