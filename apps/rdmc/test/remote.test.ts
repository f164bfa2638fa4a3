import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rejection, timerByHand, until } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { reachableAddresses } from '../src/receive/addresses.js';
import { chooseAddress } from '../src/remote/choose-address.js';
import { RemoteReceivers, type StartRequest } from '../src/remote/start-receivers.js';
import { isRunning, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

const listening = JSON.stringify({
  event: 'listening',
  ...{
    host: '127.0.0.1',
    port: 4321,
    directory: '/in',
    sharedMemory: null,
    keyed: true,
    pid: 1,
    hostName: 'far',
    version: '0',
    addresses: ['10.1.2.3'],
    metrics: null,
  },
});

/** A program instead of ssh: a shell script with the arguments HOST COMMAND... */
function shell(script: string): readonly string[] {
  return ['sh', '-c', script, 'fake-ssh'];
}

function request(script: string, part: Partial<StartRequest> = {}): StartRequest {
  return {
    targets: [{ host: '127.0.0.1' }],
    remote: {
      shell: shell(script),
      command: ['rdmc'],
      directory: 'in',
      makeDirectory: false,
      fsync: true,
      archive: false,
      meshPorts: undefined,
      timeoutMs: 120_000,
    },
    ...{
      once: true,
      device: 'auto',
      transport: 'auto',
      signal: new AbortController().signal,
      onText: () => {},
    },
    ...part,
  };
}

describe('receivers that are started', () => {
  it('get all instructions by standard input; the command line has only the command', async () => {
    const told = join(scratch.path, 'told');
    const args = join(scratch.path, 'args');
    const script = `echo "$*" > ${args}; head -n 1 > ${told}; echo welcome; echo '${listening}'; cat > /dev/null`;
    const texts: string[] = [];
    const receivers = await RemoteReceivers.start(
      request(script, {
        targets: [{ user: 'me', host: '127.0.0.1', port: 7000, rack: 'r' }],
        onText: (host, line) => texts.push(`${host}: ${line}`),
      }),
    );
    expect(readFileSync(args, 'utf8')).toBe('me@127.0.0.1 rdmc receive --controlled\n');
    const { key, ...rest } = JSON.parse(readFileSync(told, 'utf8'));
    expect(Buffer.from(key, 'hex')).toEqual(Buffer.from(receivers.key));
    expect(receivers.key).toHaveLength(32);
    expect(rest).toEqual({
      ...{
        version: 1,
        host: '127.0.0.1',
        port: 7000,
        directory: 'in',
        makeDirectory: false,
        once: true,
        fsync: true,
        archive: false,
        meshPorts: null,
      },
      ...{ device: 'auto', transport: 'auto' },
    });
    expect(receivers.started).toMatchObject([
      { name: '127.0.0.1', to: { host: '127.0.0.1', port: 4321, rack: 'r' } },
    ]);
    expect(texts).toEqual(['127.0.0.1: welcome']);
    await receivers.close();
  });

  it('get a new key each time', async () => {
    const script = `echo '${listening}'; cat > /dev/null`;
    const keys: string[] = [];
    for (let i = 0; i < 2; i += 1) {
      const receivers = await RemoteReceivers.start(request(script));
      keys.push(Buffer.from(receivers.key).toString('hex'));
      await receivers.close();
    }
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('end with their standard input, and their stderr is passed on with their host', async () => {
    const mark = join(scratch.path, 'mark');
    const texts: string[] = [];
    const receivers = await RemoteReceivers.start(
      request(`echo '${listening}'; cat > /dev/null; printf 'bye\\033[2J\\n' >&2; touch ${mark}`, {
        onText: (host, line) => texts.push(`${host}: ${line}`),
      }),
    );
    expect(existsSync(mark)).toBe(false);
    await receivers.close();
    expect(existsSync(mark)).toBe(true);
    expect(texts).toEqual(['127.0.0.1: bye\\x1b[2J']);
    await receivers.close();
  });

  it('that cannot be reached are reported with the text of the remote shell; the others are started', async () => {
    const script = `case $1 in 127.0.0.2) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255;; esac; echo '${listening}'; cat > /dev/null`;
    const receivers = await RemoteReceivers.start(
      request(script, { targets: [{ host: '127.0.0.2' }, { host: '127.0.0.1' }] }),
    );
    expect(receivers.started.map(({ name }) => name)).toEqual(['127.0.0.1']);
    expect(receivers.failed).toMatchObject([
      {
        name: '127.0.0.2',
        error: {
          code: 'ERR_RDMC_REMOTE_START',
          exitCode: 4,
          message: '127.0.0.2: ssh: connect to host 127.0.0.2 port 22: No route to host (sh ended with 255)',
        },
      },
    ]);
    await receivers.close();
  });

  it('that report why they cannot listen are reported with that', async () => {
    const error = JSON.stringify({
      error: { code: 'ENOENT', message: 'no directory /in', advice: null, exitCode: 1 },
    });
    await expect(
      RemoteReceivers.start(request(`cat > /dev/null & echo '${error}'; echo 'error ENOENT: …' >&2; exit 1`)),
    ).rejects.toMatchObject({
      code: 'ERR_RDMC_REMOTE_START',
      message: '127.0.0.1: ENOENT: no directory /in (sh ended with 1)',
    });
  });

  it('whose directory is missing are reported with the option that makes it', async () => {
    const code = 'ERR_RDMC_NOT_FOUND';
    const error = JSON.stringify({
      error: { code, message: '/in does not exist', advice: null, exitCode: 1 },
    });
    await expect(
      RemoteReceivers.start(request(`cat > /dev/null & echo '${error}'; exit 1`)),
    ).rejects.toMatchObject({ advice: expect.stringContaining('--mkdir') });
  });

  it('of which none starts are all named', async () => {
    const starting = RemoteReceivers.start(
      request('echo "no $1" >&2; exit 3', { targets: [{ host: '127.0.0.1' }, { host: '127.0.0.2' }] }),
    );
    await expect(starting).rejects.toMatchObject({
      code: 'ERR_RDMC_REMOTE_START',
      message: expect.stringMatching(/no 127\.0\.0\.1[\s\S]*no 127\.0\.0\.2/),
    });
  });

  it('whose remote shell does not exist are reported with that', async () => {
    const plain = request('');
    const starting = RemoteReceivers.start({
      ...plain,
      remote: { ...plain.remote, shell: ['/no/such/ssh'] },
    });
    await expect(starting).rejects.toMatchObject({
      message: expect.stringContaining('cannot run /no/such/ssh: no such file or directory'),
    });
  });

  it('that do not listen in time are reported, and ended', async () => {
    const mark = join(scratch.path, 'pid');
    const plain = request(`echo $$ > ${mark}; exec sleep 1000`);
    const timeoutMs = 7_654_000;
    const endTime = timerByHand(timeoutMs);
    const starting = RemoteReceivers.start({ ...plain, remote: { ...plain.remote, timeoutMs } });
    const refused = rejection(starting);
    await until(() => existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n'), 10);
    endTime();
    expect(await refused).toMatchObject({ message: '127.0.0.1: no receiver listened within 7654 s' });
    expect(isRunning(Number(readFileSync(mark, 'utf8')))).toBe(false);
  });

  it('are ended when the start is interrupted', async () => {
    const mark = join(scratch.path, 'pid');
    const controller = new AbortController();
    const starting = RemoteReceivers.start(
      request(`echo $$ > ${mark}; exec cat > /dev/null`, { signal: controller.signal }),
    );
    const settled = starting.then(
      () => 'started',
      (error: unknown) => error,
    );
    await until(() => existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n'), 10);
    controller.abort(new Error('enough'));
    expect(await settled).toMatchObject({ message: 'enough' });
    expect(isRunning(Number(readFileSync(mark, 'utf8')))).toBe(false);
  });

  it('whose names do not resolve here are reached at an address that they report', async () => {
    const receivers = await RemoteReceivers.start(
      request(`echo '${listening}'; cat > /dev/null`, { targets: [{ host: 'pod-1.invalid' }] }),
    );
    expect(receivers.started[0]!.to).toEqual({ host: '10.1.2.3', port: 4321 });
    await receivers.close();
  });
});

describe('addresses', () => {
  const address = (text: string, part: object = {}) => ({
    ...{ address: text, netmask: '255.255.255.0', mac: '', internal: false, cidr: `${text}/24` },
    ...{ family: text.includes(':') ? 'IPv6' : 'IPv4', scopeid: 0 },
    ...part,
  });
  // biome-ignore lint/suspicious/noExplicitAny: the shape of the system's answer, cut down
  const interfaces: any = {
    lo: [address('127.0.0.1', { internal: true })],
    eth0: [address('fd00::5', { cidr: 'fd00::5/64' }), address('fe80::1'), address('10.0.0.5')],
    eth1: [address('192.168.7.5'), address('169.254.1.1')],
  };

  it('that other hosts may reach are reported, the one of the ssh client first', () => {
    expect(reachableAddresses({}, interfaces)).toEqual(['10.0.0.5', '192.168.7.5', 'fd00::5']);
    expect(reachableAddresses({ SSH_CONNECTION: '192.168.7.1 5555 192.168.7.5 22' }, interfaces)[0]).toBe(
      '192.168.7.5',
    );
  });

  it('in a network of this machine are preferred', () => {
    expect(chooseAddress(['172.16.0.9', '192.168.7.9', 'fd00::9'], interfaces)).toBe('192.168.7.9');
    expect(chooseAddress(['172.16.0.9', 'fd00::9'], interfaces)).toBe('fd00::9');
    expect(chooseAddress(['172.16.0.9'], interfaces)).toBe('172.16.0.9');
    expect(chooseAddress([], interfaces)).toBeUndefined();
  });
});
