import { existsSync, statSync } from 'node:fs';
import { extname, relative } from 'node:path';
import type { CommentDisplayPart, NormalizedPath, ProjectReflection } from 'typedoc';
import { root } from '../root.js';

/** Files that pages show; the generator copies them. */
const SHOWN = new Set(['.svg', '.png']);

/** Links to files that are not pages of the site lead to the repository's files: there are no copies of them. */
export function withoutCopies(project: ProjectReflection, repository: string): void {
  const outside = new Set<number>();
  const rewrite = (parts: CommentDisplayPart[] | undefined): CommentDisplayPart[] | undefined =>
    parts?.map((part) => {
      if (part.kind !== 'relative-link' || typeof part.target !== 'number') return part;
      const isPage =
        typeof project.files.resolve(part.target, project) === 'object' && !outside.has(part.target);
      const target = project.files.resolvePath(part.target);
      if (isPage || target === undefined || SHOWN.has(extname(target))) return part;
      outside.add(part.target);
      // The generator would copy the file otherwise.
      project.files.registerReflectionPath(target as NormalizedPath, project);
      const anchor = part.targetAnchor === undefined ? '' : `#${part.targetAnchor}`;
      return { kind: 'text', text: addressOf(target, repository) + anchor };
    });
  for (const reflection of Object.values(project.reflections)) {
    if (reflection.isDocument()) reflection.content = rewrite(reflection.content)!;
    if (reflection.isDeclaration() && reflection.readme) reflection.readme = rewrite(reflection.readme)!;
  }
  if (project.readme) project.readme = rewrite(project.readme)!;
}

function addressOf(path: string, repository: string): string {
  if (!existsSync(path)) throw new Error(`There is no ${path}, and a page has a link to it`);
  const address = statSync(path).isDirectory() ? repository.replace('/blob/', '/tree/') : repository;
  return `${address}/${relative(root, path)}`;
}
