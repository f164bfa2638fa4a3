import { readFileSync } from 'node:fs';

const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  name: string;
  version: string;
};

/** Name and version that this end sends. */
export const SOFTWARE = `${name} ${version}`;

/** Purpose of the keys of control connections. */
export const CONTROL_PURPOSE = 'rdmc cast control';
