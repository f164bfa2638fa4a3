import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { outlineOf } from './markdown.js';

/** Links inside of a folder of Markdown documents that lead nowhere: `docs/a.md: b.md#no-such-heading`. */
export function deadLinks(root: string, documents: readonly string[]): string[] {
  const outlines = new Map<string, ReturnType<typeof outlineOf>>();
  const outline = (path: string): ReturnType<typeof outlineOf> => {
    const known = outlines.get(path) ?? outlineOf(readFileSync(path, 'utf8'));
    outlines.set(path, known);
    return known;
  };
  return documents.flatMap((document) => {
    const path = resolve(root, document);
    const dead = outline(path).links.filter((link) => isRelative(link) && !isAlive(path, link, outline));
    return dead.map((link) => `${relative(root, path)}: ${link}`);
  });
}

function isRelative(link: string): boolean {
  return !/^[a-z][a-z+.-]*:/i.test(link) && !link.startsWith('//');
}

function isAlive(
  from: string,
  link: string,
  outline: (path: string) => { anchors: ReadonlySet<string> },
): boolean {
  const [path = '', anchor] = link.split('#');
  let target = path === '' ? from : resolve(dirname(from), decodeURI(path));
  if (!existsSync(target)) return false;
  if (statSync(target).isDirectory()) target = join(target, 'README.md');
  if (anchor === undefined) return true;
  return target.endsWith('.md') && existsSync(target) && outline(target).anchors.has(anchor);
}
