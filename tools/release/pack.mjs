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
const VERBS = '@rdmc/verbs';
const platformName = (arch) => `@rdmc/verbs-linux-${arch}`;

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function writeManifest(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Packs these folders with one npm, whose start takes longer than packing; returns the tarballs by package name. */
function npmPack(folders, out) {
  const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', out, ...folders], {
    encoding: 'utf8',
  });
  const packed = JSON.parse(printed.slice(printed.search(/[[{]/)));
  const entries = Array.isArray(packed) ? packed : Object.values(packed);
  return new Map(entries.map(({ name, filename }) => [name, join(out, filename)]));
}

/** The package that carries the addon built on this machine. */
function stagePlatform(verbs, staging) {
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
  return folder;
}

/** @rdmc/verbs with its optional platform packages named. */
function stageVerbs(verbs, staging) {
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
  return folder;
}

/** The folders of all packages that are published, by name. */
function publishedFolders() {
  const folders = ['packages', 'apps'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(root, parent, name)),
  );
  return folders.filter((folder) => {
    return existsSync(join(folder, 'package.json')) && !readManifest(folder).private;
  });
}

/** Packages of ours that a package needs, with the addon for @rdmc/verbs. */
function dependenciesOf({ name, dependencies = {} }) {
  const ours = Object.keys(dependencies).filter((each) => each.startsWith('@rdmc/'));
  return name === VERBS ? [...ours, platformName(process.arch)] : ours;
}

export function packAll(out) {
  mkdirSync(out, { recursive: true });
  const staging = mkdtempSync(join(tmpdir(), 'rdmc-pack-'));
  try {
    const published = publishedFolders().map((folder) => ({ folder, manifest: readManifest(folder) }));
    const verbs = published.find(({ manifest }) => manifest.name === VERBS).folder;
    const staged = published.map(({ folder }) => (folder === verbs ? stageVerbs(verbs, staging) : folder));
    const tarballs = npmPack([stagePlatform(verbs, staging), ...staged], out);
    const platform = platformName(process.arch);
    const packed = { [platform]: { tarball: tarballs.get(platform), dependencies: [] } };
    for (const { folder, manifest } of published) {
      const { name } = manifest;
      packed[name] = { tarball: tarballs.get(name), dependencies: dependenciesOf(manifest), folder };
    }
    return packed;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = process.argv[2];
  if (!out) {
    console.error('usage: node tools/release/pack.mjs OUT');
    process.exit(2);
  }
  console.log(JSON.stringify(packAll(resolve(out)), null, 2));
}
