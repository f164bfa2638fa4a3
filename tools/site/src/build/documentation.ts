import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Application,
  Comment,
  type CommentDisplayPart,
  CommentTag,
  Converter,
  type DeclarationReflection,
  type DocumentationEntryPoint,
  type DocumentReflection,
  MinimalSourceFile,
  type NormalizedPath,
  type ProjectReflection,
} from 'typedoc';
import { figure } from '../charts/figure.js';
import { results } from '../charts/result.js';
import { type PublicPackage, publicPackages } from '../reference/packages.js';
import { programOf } from '../reference/program.js';
import { root } from '../root.js';
import { PAGES, type Page } from './pages.js';
import { withoutCopies } from './repository-links.js';

/** Pages beside the folder of documents, at the end of the documents about them. */
const BESIDE: Readonly<Record<string, string>> = {
  'docs/schedule-explorer.md':
    '\n<p><a href="../explorer.html">The explorer on its own page</a></p>\n<iframe class="explorer" src="../explorer.html" title="Schedule explorer"></iframe>\n',
  'docs/results/papers.md': '\n<p><a href="../figures.html">All figures on one page</a></p>\n',
};
const WHERE_SOURCES_ARE = 'https://github.com/rdmc/rdmc/blob/main';

/**
 * Writes the guides, the results and the reference of all packages.
 * @param style the path of the site's style
 * @returns the number of warnings and errors
 */
export async function writeDocumentation(out: string, style: string): Promise<number> {
  const packages = publicPackages();
  const app = await Application.bootstrap({
    name: 'RDMC',
    readme: join(root, 'docs/README.md'),
    basePath: root,
    projectDocuments: PAGES.map(({ file }) => join(root, file)),
    groupOrder: ['Guides', 'Packages', 'Reference', 'Results'],
    navigation: { includeGroups: true, includeCategories: false, includeFolders: false },
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    disableGit: true,
    gitRevision: 'main',
    sourceLinkTemplate: `${WHERE_SOURCES_ARE}/{path}#L{line}`,
    customCss: style,
    highlightLanguages: [
      'python',
      'bash',
      'console',
      'css',
      'html',
      'javascript',
      'json',
      'sh',
      'text',
      'ts',
      'tsx',
      'typescript',
    ],
    ignoredHighlightLanguages: ['paths'],
    validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
    hideGenerator: true,
    logLevel: 'Warn',
  });
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, document) => arrange(document));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => describePackages(app, project, packages));
  app.converter.on(Converter.EVENT_END, ({ project }) => {
    withoutTitle(project);
    withoutCopies(project, WHERE_SOURCES_ARE);
  });
  const project = app.converter.convert(entryPoints(packages));
  app.validate(project);
  await app.generateDocs(project, out);
  return app.logger.warningCount + app.logger.errorCount;
}

function entryPoints(packages: readonly PublicPackage[]): DocumentationEntryPoint[] {
  const program = programOf(packages);
  const entries = packages.flatMap((one) => one.entries);
  return entries.map(({ name, source }) => ({
    displayName: name,
    program,
    sourceFile: program.getSourceFile(source)!,
  }));
}

/** Gives a document its title and group, and draws its charts below its heading. */
function arrange(document: DocumentReflection): void {
  const page = PAGES.find(({ file }) => file.replace(/\.md$/, '') === document.name);
  if (!page) throw new Error(`${document.name} is not one of the pages`);
  document.name = page.title;
  document.frontmatter = { group: page.group };
  const [first, ...others] = document.content;
  if (first?.kind !== 'text') throw new Error(`${page.file} does not begin with a title`);
  const text = first.text.replace(/^# .*\n/, (title) => `${title}\n${chartsOf(page)}\n`);
  const beside = BESIDE[page.file];
  const end: CommentDisplayPart[] = beside === undefined ? [] : [{ kind: 'text', text: beside }];
  document.content = [{ kind: 'text', text }, ...others, ...end];
}

/** The generator's list of headings leaves out code. */
function withPlainHeadings(markdown: string): string {
  return markdown.replace(/^#{2,6} .*$/gm, (heading) =>
    heading.replaceAll('`', '').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  );
}

function chartsOf({ charts = [] }: Page): string {
  const all = results();
  return charts.map((name) => figure(all.get(name)!, name.replace('.json', ''))).join('\n\n');
}

/** The start page shows the name of the project as its title. */
function withoutTitle({ readme }: ProjectReflection): void {
  const [first] = readme ?? [];
  if (first?.kind === 'text') first.text = first.text.replace(/^# .*\n/, '');
}

/** The README of a package stands on the page of its main module; links to its folder lead there. */
function describePackages(
  app: Application,
  project: ProjectReflection,
  packages: readonly PublicPackage[],
): void {
  for (const { name, folder } of packages) {
    const module = project.children?.find((child) => child.name === name);
    if (!module) throw new Error(`${name} does not have a page`);
    const path = join(root, folder, 'README.md') as NormalizedPath;
    const file = new MinimalSourceFile(
      withPlainHeadings(readFileSync(path, 'utf8').replace(/^# .*\n/, '')),
      path,
    );
    module.readme = app.converter.parseRawComment(file, project.files).content;
    project.files.registerReflectionPath(path, module);
    project.files.registerReflectionPath(join(root, folder) as NormalizedPath, module);
  }
  for (const module of project.children ?? []) group(module);
}

function group(module: DeclarationReflection): void {
  module.comment ??= new Comment();
  module.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: 'Packages' }]));
}
