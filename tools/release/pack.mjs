// Packs every publishable package into a folder, as `npm publish` would send it:
//   node tools/release/pack.mjs OUT
// Prints one JSON object: package name -> { tarball, dependencies: [our packages it needs] }.
//
// The native addon of this machine's platform goes into a package of its own, @rdmc/verbs-linux-<arch>,
// which @rdmc/verbs names as an optional dependency. Those names exist only in the packed manifest: in the
// workspace the addon is built from source, and npm must not look for them.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ARCHITECTURES = ['x64', 'arm64'];
const platformName = (arch) => `@rdmc/verbs-linux-${arch}`;

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function writeManifest(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function npmPack(folder, out) {
  const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', out], {
    cwd: folder,
    encoding: 'utf8',
  });
  const packed = JSON.parse(printed.slice(printed.search(/[[{]/)));
  const entry = Array.isArray(packed) ? packed[0] : Object.values(packed)[0];
  return join(out, entry.filename);
}

/** The package that carries the addon built on this machine. */
function packPlatform(verbs, staging, out) {
  const { version, license, repository, engines } = readManifest(verbs);
  const folder = join(staging, 'platform');
  mkdirSync(folder);
  cpSync(join(verbs, 'native/build/Release/rdmc_verbs.node'), join(folder, 'rdmc_verbs.node'));
  writeFileSync(
    join(folder, 'README.md'),
    `The native addon of @rdmc/verbs for linux-${process.arch} (glibc).\n`,
  );
  writeManifest(folder, {
    name: platformName(process.arch),
    version,
    description: `Native addon of @rdmc/verbs for linux-${process.arch}`,
    license,
    repository,
    engines,
    os: ['linux'],
    cpu: [process.arch],
    main: 'rdmc_verbs.node',
    files: ['rdmc_verbs.node'],
    publishConfig: { access: 'public' },
  });
  return { tarball: npmPack(folder, out), dependencies: [] };
}

/** @rdmc/verbs with its optional platform packages named. */
function packVerbs(verbs, ours, staging, out) {
  const folder = join(staging, 'verbs');
  cpSync(verbs, folder, {
    recursive: true,
    filter: (path) => !/(native\/build|node_modules|\.turbo)/.test(path),
  });
  const manifest = readManifest(folder);
  manifest.optionalDependencies = Object.fromEntries(
    ARCHITECTURES.map((arch) => [platformName(arch), manifest.version]),
  );
  writeManifest(folder, manifest);
  return { tarball: npmPack(folder, out), dependencies: [...ours, platformName(process.arch)] };
}

export function packAll(out) {
  mkdirSync(out, { recursive: true });
  const staging = mkdtempSync(join(tmpdir(), 'rdmc-pack-'));
  const packed = {};
  try {
    for (const parent of ['packages', 'apps']) {
      for (const name of readdirSync(join(root, parent))) {
        const folder = join(root, parent, name);
        if (!existsSync(join(folder, 'package.json'))) continue;
        const manifest = readManifest(folder);
        if (manifest.private) continue;
        const ours = Object.keys(manifest.dependencies ?? {}).filter((each) => each.startsWith('@rdmc/'));
        if (manifest.name === '@rdmc/verbs') {
          packed[platformName(process.arch)] = packPlatform(folder, staging, out);
          packed[manifest.name] = packVerbs(folder, ours, staging, out);
        } else {
          packed[manifest.name] = { tarball: npmPack(folder, out), dependencies: ours };
        }
        packed[manifest.name].folder = folder;
      }
    }
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return packed;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = process.argv[2];
  if (!out) {
    console.error('usage: node tools/release/pack.mjs OUT');
    process.exit(2);
  }
  console.log(JSON.stringify(packAll(resolve(out)), null, 2));
}
