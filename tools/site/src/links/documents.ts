import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.js';

const WORKSPACES = ['packages', 'apps', 'tools'];

/** Every Markdown document that people read: of the root, of docs, and the README of each workspace. */
export function documents(): string[] {
  const inRoot = readdirSync(root).filter((name) => name.endsWith('.md'));
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  const readmes = [
    ...WORKSPACES.flatMap((parent) => readdirSync(join(root, parent)).map((name) => join(parent, name))),
    'test-e2e',
  ]
    .map((folder) => join(folder, 'README.md'))
    .filter((path) => existsSync(join(root, path)));
  return [...inRoot, ...inDocs, ...readmes].sort();
}
