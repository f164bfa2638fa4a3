import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freed, type ReservedPort } from './members.js';

const program = process.env.RDMC_TEST_ETCD || 'etcd';
/** Length of the last output that an error shows. */
const SHOWN = 20_000;
const SERVING = /ready to serve client requests|serving (insecure )?client (requests|traffic)/i;

/** Why the tests with etcd are skipped, or false. */
export const noEtcd: string | false =
  spawnSync(program, ['--version']).status === 0
    ? false
    : 'left out: apt-get install etcd-server, or RDMC_TEST_ETCD=PATH of one';

/** Paths of the certificates that an etcd uses, and requires of its clients. */
export interface EtcdTls {
  readonly certificate: string;
  readonly key: string;
}

function securedBy({ certificate, key }: EtcdTls): string[] {
  return [
    ...['--cert-file', certificate, '--key-file', key],
    ...['--client-cert-auth', '--trusted-ca-file', certificate],
  ];
}

/** As `spawn`. */
type Launch = (program: string, args: string[], options: SpawnOptions) => ChildProcess;

/** An etcd of one member on loopback, in a process of its own. */
export class Etcd {
  private constructor(
    readonly endpoint: string,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /** At the first of two ports; resolves when it serves. */
  static async start(ports: readonly ReservedPort[], tls?: EtcdTls): Promise<Etcd> {
    const [client, peer] = (await freed(ports)).map(({ host, port }) => `${host}:${port}`);
    return Etcd.at([client!, peer!], { tls });
  }

  /**
   * At two addresses; resolves when it serves.
   * @param launch starts the process, elsewhere than this one for example
   */
  static async at(
    [client, peer]: readonly [client: string, peer: string],
    { tls, launch = spawn }: { readonly tls?: EtcdTls | undefined; readonly launch?: Launch } = {},
  ): Promise<Etcd> {
    const directory = mkdtempSync(join(tmpdir(), 'rdmc-etcd-'));
    const endpoint = `${tls ? 'https' : 'http'}://${client}`;
    const child = launch(
      program,
      [
        ...['--name', 'one', '--data-dir', directory, '--log-level', 'info', '--logger', 'zap'],
        ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
        ...['--listen-peer-urls', `http://${peer}`, '--initial-advertise-peer-urls', `http://${peer}`],
        ...['--initial-cluster', `one=http://${peer}`, ...(tls ? securedBy(tls) : [])],
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
        said = (said + text).slice(-SHOWN);
        if (SERVING.test(said)) resolve();
      });
    });
  }
}
