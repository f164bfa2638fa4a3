// How long a stranger needs until the first verified cast, from an empty folder and with an empty cache of npm:
//   node tools/bench/install/first-cast.mjs [ROUNDS]
// A registry on loopback has our packed packages; other packages come through it from the configured registry of npm, and
// are in its storage after the first round. Prints seconds of `npm install @rdmc/cli`, and of a cast of 8 MiB to two receivers
// with the start of both.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chosenAddons } from '../../release/addon.mjs';
import { packAll } from '../../release/pack.mjs';
import { publishAll } from '../../release/publish.mjs';
import { Registry } from '../../release/registry/registry.mjs';
import { download } from '../../tasks/download.mjs';
import { startReceiver } from '../cast/receiver.mjs';

const FILE_BYTES = 8 << 20;
const RECEIVERS = 2;
const rounds = Number(process.argv[2] ?? 3);
const workspace = mkdtempSync(join(tmpdir(), 'rdmc-first-cast-'));

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(2);
}

function install(folder, registry) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const env = { ...process.env, npm_config_registry: registry, npm_config_cache: join(folder, 'cache') };
  download('npm install', 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '@rdmc/cli'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return join(folder, 'node_modules/.bin/rdmc');
}

async function cast(rdmc, folder) {
  const bytes = randomBytes(FILE_BYTES);
  const file = join(folder, 'file');
  writeFileSync(file, bytes);
  const dirs = Array.from({ length: RECEIVERS }, (_, i) => join(folder, `receiver-${i}`));
  const start = performance.now();
  const receivers = await Promise.all(dirs.map((dir) => startReceiver(dir, ['--mkdir', '--once'], [rdmc])));
  const to = receivers.map(({ address }) => address).join();
  execFileSync(rdmc, ['cast', file, '--to', to, '--quiet'], { stdio: ['ignore', 'ignore', 'inherit'] });
  await Promise.all(receivers.map(({ ended }) => ended));
  const taken = seconds(start);
  for (const dir of dirs)
    if (!readFileSync(join(dir, 'file')).equals(bytes)) throw new Error(`${dir} differs`);
  return taken;
}

const storage = join(workspace, 'registry');
mkdirSync(storage);
const registry = await Registry.start(storage);
try {
  publishAll(packAll(join(workspace, 'tarballs'), chosenAddons([])), { env: registry.environment });
  for (let round = 0; round < rounds; round += 1) {
    const folder = join(workspace, `round-${round}`);
    const start = performance.now();
    const rdmc = install(folder, registry.url);
    console.log(`npm install ${seconds(start)} s, first cast ${await cast(rdmc, folder)} s`);
  }
} finally {
  await registry.close();
  rmSync(workspace, { recursive: true, force: true });
}
