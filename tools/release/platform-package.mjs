// The package of one platform: the native addon, which @rdmc/verbs names as an optional dependency.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeManifest } from './manifest.mjs';
import { VERBS } from './workspace.mjs';

const ADDON = 'rdmc_verbs.node';

export function platformName(platform) {
  return `${VERBS}-${platform}`;
}

function platformManifest(verbs, platform) {
  const [os, cpu] = platform.split('-');
  const { version, keywords, license, author, homepage, bugs, repository, engines } = verbs;
  return {
    name: platformName(platform),
    version,
    description: `Native addon of ${VERBS} for ${platform} (glibc)`,
    keywords: [...keywords, 'addon'],
    license,
    author,
    homepage,
    bugs,
    repository,
    engines,
    os: [os],
    cpu: [cpu],
    libc: ['glibc'],
    main: ADDON,
    exports: { '.': `./${ADDON}`, './package.json': './package.json' },
    files: [ADDON, 'CHANGELOG.md'],
    publishConfig: { access: 'public' },
  };
}

/** Writes the package of this addon to a new folder; returns its manifest. `verbs` is the manifest of @rdmc/verbs. */
export function writePlatformPackage(folder, verbs, { platform, file }) {
  const manifest = platformManifest(verbs, platform);
  mkdirSync(folder, { recursive: true });
  copyFileSync(file, join(folder, ADDON));
  writeManifest(folder, manifest);
  const title = `# ${manifest.name}\n\n`;
  writeFileSync(
    join(folder, 'README.md'),
    `${title}The native addon of [${VERBS}](https://www.npmjs.com/package/${VERBS}) for ${platform} with glibc. npm installs it with that package where it fits; there is nothing to import from it.\n`,
  );
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    `${title}The changes are in the CHANGELOG.md of ${VERBS} ${manifest.version}.\n`,
  );
  return manifest;
}
