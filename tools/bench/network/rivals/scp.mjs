// scp in a loop: what people do without a tool for it. An sshd in every host, with keys made for this run.
// Debian: openssh-server openssh-client.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UNMEASURED } from '../meter.mjs';
import { ended, listens, nowSeconds, scratch, until } from '../tools.mjs';
import { fileAt } from './chain.mjs';

const PORT = 2222;
const SSHD = '/usr/sbin/sshd';

/** Starts the servers; returns a function that copies one file to each host in turn. */
export async function startScp(lab, hosts, { meter = UNMEASURED } = {}) {
  const folder = scratch('ssh').path;
  const key = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  writeFileSync(join(folder, 'authorized'), readFileSync(`${key}.pub`), { mode: 0o600 });
  // Where sshd puts away its rights before somebody has logged in.
  mkdirSync('/run/sshd', { recursive: true });
  const servers = [];
  for (const host of hosts.slice(1)) {
    const config = join(folder, `config-${host}`);
    const lines = [
      `ListenAddress ${lab.host(host).ipv4}`,
      `Port ${PORT}`,
      `HostKey ${key}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'Subsystem sftp internal-sftp',
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    const child = lab.exec(host, SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'ignore'] });
    servers.push(child);
    await until(() => listens(child.pid, PORT), `sshd at ${host}`);
  }
  const options = [
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
  ];
  const copy = async (path, folderOf) => {
    const started = nowSeconds();
    for (const host of hosts.slice(1)) {
      const to = `root@${lab.host(host).ipv4}:${fileAt(folderOf(host))}`;
      const args = ['-q', '-P', String(PORT), '-i', key, ...options, path, to];
      const child = lab.exec(hosts[0], ...meter.wrap(hosts[0], 'scp', args), {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await ended(child, `scp to ${host}`);
    }
    return { seconds: nowSeconds() - started };
  };
  return { copy, pids: servers.map((child) => child.pid) };
}
