// A throw-away registry: our packages from what is published to it, all others from the configured registry of npm.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { root } from '../../tasks/setup.mjs';
import { installedTools } from './tools.mjs';

const PROGRAM = fileURLToPath(new URL('verdaccio.cjs', import.meta.url));

function configuredRegistry() {
  return execFileSync('npm', ['config', 'get', 'registry'], {
    // npm refuses this command in a workspace's folder.
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

async function firstLine(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('http://')) return line;
  }
  throw new Error('The registry ended before it listened');
}

export class Registry {
  #child;

  constructor(child, url, userConfig) {
    this.#child = child;
    this.url = url;
    /** An .npmrc with the registry and with the right to publish to it. */
    this.userConfig = userConfig;
  }

  /** Starts one with its storage in this folder, which must be empty. */
  static async start(folder) {
    const storage = join(folder, 'storage');
    mkdirSync(storage);
    const args = [PROGRAM, join(installedTools(), 'verdaccio'), storage, configuredRegistry()];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const url = await firstLine(child);
    const userConfig = join(folder, 'npmrc');
    writeFileSync(userConfig, `registry=${url}\n${url.slice('http:'.length)}:_authToken=throw-away\n`);
    return new Registry(child, url, userConfig);
  }

  /** The environment of a publication to it. */
  get environment() {
    return { ...process.env, npm_config_userconfig: this.userConfig, npm_config_registry: this.url };
  }

  async close() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}
