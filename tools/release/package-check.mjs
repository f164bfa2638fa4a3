// Whether an unpacked tarball is complete, and contains nothing else.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addonProblems } from './addon-check.mjs';
import { readElf } from './elf.mjs';
import { importsOf } from './imports.mjs';
import { readManifest } from './manifest.mjs';

const FILES = ['LICENSE', 'README.md', 'CHANGELOG.md'];
const FIELDS = ['description', 'keywords', 'license', 'author', 'homepage', 'bugs', 'repository', 'engines'];
/** npm runs these on the user's machine. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1));
}

function isEmpty(value) {
  return value === undefined || value.length === 0;
}

function manifestProblems(manifest) {
  const problems = FIELDS.filter((field) => isEmpty(manifest[field])).map(
    (field) => `package.json has no ${field}`,
  );
  if (manifest.private) problems.push('package.json is private');
  const scripts = INSTALL_SCRIPTS.filter((name) => manifest.scripts?.[name]);
  if (scripts.length > 0) problems.push(`package.json has scripts that run at installation: ${scripts}`);
  return problems;
}

/** The changes of this very version, so that a release without its entry is noticed. */
function changelogProblems(folder, { version }) {
  const text = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
  return text.includes(version) ? [] : [`CHANGELOG.md does not have ${version}`];
}

function importProblems(folder, files, { name: own, dependencies = {}, peerDependencies = {} }) {
  const declared = new Set([own, ...Object.keys({ ...dependencies, ...peerDependencies })]);
  return [...importsOf(folder, files)]
    .filter(([name]) => !declared.has(name))
    .map(([name, file]) => `${file} imports ${name}, which is not among the dependencies`);
}

function mapProblems(folder, files) {
  return files
    .filter(
      // Other files with this ending are maps of a linker.
      (name) =>
        /\.[cm]?[jt]s\.map$/.test(name) &&
        JSON.parse(readFileSync(join(folder, name), 'utf8')).sourcesContent,
    )
    .map((name) => `${name} contains the sources`);
}

function elfProblems(folder, files, { cpu }) {
  return files
    .filter((name) => name.endsWith('.node'))
    .flatMap((name) =>
      cpu ? addonProblems(readElf(join(folder, name)), cpu[0]) : [`${name} is not for one platform`],
    );
}

/** Problems of an unpacked tarball, one line each. */
export function packageProblems(folder) {
  const manifest = readManifest(folder);
  const files = filesOf(folder);
  const missing = FILES.filter((name) => !files.includes(name));
  return [
    ...missing.map((name) => `there is no ${name}`),
    ...manifestProblems(manifest),
    ...(files.includes('CHANGELOG.md') ? changelogProblems(folder, manifest) : []),
    ...importProblems(folder, files, manifest),
    ...mapProblems(folder, files),
    ...elfProblems(folder, files, manifest),
  ];
}
