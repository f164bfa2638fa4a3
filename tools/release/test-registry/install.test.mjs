import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readmeExample, readmeInstalls, sharedDirectory } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../../tasks/setup.mjs';
import { chosenAddons } from '../addon.mjs';
import { withNeeded } from '../order.mjs';
import { packAll } from '../pack.mjs';
import { publishAll } from '../publish.mjs';
import { COMMANDS } from '../registry/commands.mjs';
import { installSize } from '../registry/install-size.mjs';
import { MANAGERS } from '../registry/managers.mjs';
import { Project } from '../registry/project.mjs';
import { Registry } from '../registry/registry.mjs';
import { sizeProblems, writeSize } from '../registry/size-table.mjs';
import { publicPackages } from '../workspace.mjs';

// RDMC_TEST_RELEASE=smoke: npm, and two packages. RDMC_TEST_SIZES=write: the measured sizes go into docs/install-sizes.md.
const isSmoke = process.env.RDMC_TEST_RELEASE === 'smoke';
/** Its README shows parts of programs; `example.mjs` beside it is one. */
const FRAGMENTS_ONLY = '@rdmc/common';
const SMOKE = ['@rdmc/group', '@rdmc/mesh'];
const packages = publicPackages().filter(({ manifest }) => !isSmoke || SMOKE.includes(manifest.name));
const managers = isSmoke ? MANAGERS.slice(0, 1) : MANAGERS;

const workspace = sharedDirectory('rdmc-registry');
// Another user runs the programs.
chmodSync(workspace, 0o755);
let registry;

beforeAll(async () => {
  const folder = join(workspace, 'registry');
  mkdirSync(folder);
  registry = await Registry.start(folder);
  const packed = packAll(join(workspace, 'tarballs'), chosenAddons([]));
  const names = packages.map(({ manifest }) => manifest.name);
  publishAll(withNeeded(packed, names), { env: registry.environment });
});

afterAll(() => registry?.close());

function lines(text) {
  return text.split('\n').sort();
}

function expectPrinted(output, { prints, anyOrder }) {
  expect(output.trim()).not.toBe('');
  if (prints === undefined) return;
  if (anyOrder) expect(lines(output)).toEqual(lines(prints));
  else expect(output).toBe(prints);
}

/** What a user runs first: the program of the README. */
function exampleOf(name, folder, readme) {
  if (name !== FRAGMENTS_ONLY) return readmeExample(readme, name);
  return { code: readFileSync(join(folder, 'example.mjs'), 'utf8') };
}

async function expectWorks(project, name, example) {
  const command = COMMANDS[name];
  if (command) expect(await project.commandOutput(name, command)).not.toBe('');
  else expectPrinted(await project.output(project.write('example.mjs', example.code)), example);
}

describe.each(managers)('$name', (manager) => {
  const { unusable = {} } = manager;
  const usable = packages.filter(({ manifest }) => !unusable[manifest.name]);
  for (const [name, reason] of Object.entries(unusable)) it.skip(`does not run ${name}: ${reason}`);

  it.each(usable)('installs $manifest.name, and its example runs', async ({ folder, manifest }) => {
    const { name } = manifest;
    const readme = readFileSync(join(root, folder, 'README.md'), 'utf8');
    const home = join(workspace, `${manager.name} ${name}`.replace(/[^\w]+/g, '-'));
    const project = new Project(home, manager, registry.url);
    await project.install([name]);
    if (manager.name === 'npm') checkSize(name, project);
    const others = readmeInstalls(readme).filter((each) => each !== name);
    if (others.length > 0) await project.install(others);
    project.lock();
    try {
      await expectWorks(project, name, exampleOf(name, join(root, folder), readme));
    } finally {
      project.unlock();
    }
    rmSync(home, { recursive: true });
  });
});

function checkSize(name, project) {
  const size = installSize(project.modules);
  console.log(`${name}: ${size.packages} packages, ${size.megabytes.toFixed(1)} MB`);
  if (process.env.RDMC_TEST_SIZES === 'write') writeSize(name, size);
  expect(sizeProblems(name, size)).toEqual([]);
}
