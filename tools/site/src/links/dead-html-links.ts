import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const TARGET = /<(?:a|link|img|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g;
const ID = /\s(?:id|name)="([^"]+)"/g;

/** Links of a built site that lead nowhere, with their page. Pages are opened as files, so a folder is no target. */
export function deadHtmlLinks(site: string): string[] {
  const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.html'),
  );
  const texts = new Map(pages.map((page) => [join(site, page), readFileSync(join(site, page), 'utf8')]));
  const ids = new Map([...texts].map(([path, text]) => [path, idsOf(text)]));
  return [...texts].flatMap(([path, text]) => {
    const targets = [...new Set([...text.matchAll(TARGET)].map((match) => match[1]!))];
    const dead = targets.filter(
      (target) => !/^(?:[a-z]+:|\/\/|#$)/i.test(target) && !isAlive(path, target, ids),
    );
    return dead.map((target) => `${relative(site, path)}: ${target}`);
  });
}

function idsOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(ID)].map((match) => match[1]!));
}

function isAlive(from: string, target: string, ids: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const [path = '', anchor = ''] = target.split('#').map((part) => decodeURIComponent(part));
  const file = path === '' ? from : resolve(dirname(from), path);
  if (!existsSync(file) || statSync(file).isDirectory()) return false;
  return anchor === '' || (ids.get(file)?.has(anchor) ?? false);
}
