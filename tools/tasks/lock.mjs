// Entries that `npm ci` requires in package-lock.json and that npm may not write: npm omits an optional
// package of another platform when its registry does not have it, and `npm ci` refuses a lock file without it.
// Such an entry does not need an address or a checksum: version, platform and `optional` are enough.

const SYSTEMS = {
  aix: 'aix',
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  netbsd: 'netbsd',
  openbsd: 'openbsd',
  openharmony: 'openharmony',
  sunos: 'sunos',
  win32: 'win32',
  windows: 'win32',
};
const PROCESSORS = {
  64: 'x64',
  arm: 'arm',
  arm64: 'arm64',
  ia32: 'ia32',
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  x64: 'x64',
};
const LIBRARIES = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl', musleabihf: 'musl' };
const EXACT = /^\d+\.\d+\.\d+(-[\w.-]+)?$/;

/** The platform in a package's name: '@rollup/rollup-linux-x64-musl' is for linux, x64 and musl. */
export function platformOf(name) {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-');
  const found = (table) => words.filter((word) => Object.hasOwn(table, word)).map((word) => table[word]);
  const [os, cpu, libc] = [found(SYSTEMS), found(PROCESSORS), found(LIBRARIES)];
  return os[0] && cpu[0] ? { os: [os[0]], cpu: [cpu[0]], ...(libc[0] && { libc: [libc[0]] }) } : undefined;
}

/** The folders in which imports of a package at `location` are resolved, nearest first. */
function searched(location) {
  const folders = [];
  for (let at = location; ; at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))) {
    if (at !== 'node_modules' && !at.endsWith('/node_modules')) {
      folders.push(at === '' ? 'node_modules' : `${at}/node_modules`);
    }
    if (at === '') return folders;
  }
}

/** The location of the missing package, or undefined if it is not missing. */
function placeFor(packages, location, name, version) {
  const folders = searched(location);
  for (const folder of folders) {
    const there = packages[`${folder}/${name}`];
    if (there) return there.version === version ? undefined : `${folders[0]}/${name}`;
  }
  return `node_modules/${name}`;
}

/** Changes the lock and returns the changes. Throws for problems that need a decision. */
export function completeLock(lock) {
  const changes = [];
  for (const [location, entry] of Object.entries(lock.packages)) {
    if (/^https?:/.test(entry.resolved ?? '')) {
      delete entry.resolved;
      changes.push(`${location}: the registry's address removed`);
    }
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!EXACT.test(version)) continue;
      const place = placeFor(lock.packages, location, name, version);
      if (!place) continue;
      const platform = platformOf(name);
      if (!platform)
        throw new Error(`${location} needs ${name}: its platform is not in lock.mjs; add it there`);
      lock.packages[place] = { version, ...platform, ...(entry.dev && { dev: true }), optional: true };
      changes.push(`${place}@${version} added`);
    }
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  lock.packages = Object.fromEntries(sorted);
  return changes;
}
