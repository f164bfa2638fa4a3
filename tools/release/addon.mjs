// A native addon and the platform that it is for: { platform: 'linux-x64', file }.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from '../tasks/setup.mjs';

export const BUILT = 'packages/verbs/native/build/Release/rdmc_verbs.node';
export const PLATFORMS = ['linux-x64', 'linux-arm64'];

function existing(addon, advice) {
  if (!existsSync(addon.file)) throw new Error(`There is no addon ${addon.file}: ${advice}`);
  return addon;
}

/** The addon that was built on this machine. */
export function hostAddon() {
  const addon = { platform: `${process.platform}-${process.arch}`, file: join(root, BUILT) };
  if (!PLATFORMS.includes(addon.platform)) {
    throw new Error(
      `This machine builds no addon that is published: ${addon.platform} is not ${PLATFORMS.join(' or ')}`,
    );
  }
  return existing(addon, 'run npm run native -w @rdmc/verbs');
}

/** The addon of an argument: 'linux-arm64=FILE'. */
export function addonOf(argument) {
  const [, platform, file] = /^([^=]+)=(.+)$/.exec(argument) ?? [];
  if (!PLATFORMS.includes(platform)) {
    throw new Error(`--addon takes PLATFORM=FILE with ${PLATFORMS.join(' or ')}; this is '${argument}'`);
  }
  return existing({ platform, file: resolve(file) }, 'give the file that a build of that platform made');
}

/** The addon of this machine and those of the arguments, which replace it for the same platform. */
export function chosenAddons(given) {
  const others = given.map(addonOf);
  const platforms = others.map(({ platform }) => platform);
  const twice = platforms.find((platform, index) => platforms.indexOf(platform) !== index);
  if (twice) throw new Error(`--addon has ${twice} twice`);
  return platforms.includes(`${process.platform}-${process.arch}`) ? others : [hostAddon(), ...others];
}
