import type { CastOptions } from './cast-options.js';
import { MAX_FILTER_CHARACTERS, MAX_FILTER_RULES } from './constants.js';
import { invalidOption } from './errors.js';
import { Filter } from './filters/filter.js';
import type { FilterRule } from './filters/filter-rule.js';
import { type ComparisonKind, type ComparisonPolicy, comparisons } from './manifest/policy.js';
import { booleanOption, choiceOption, onlyKnownOptions } from './options.js';
import { checkPaths } from './paths-option.js';
import { ListedPath } from './reader/listed-paths.js';

const WHERE = 'castFiles';
type FlagName = 'update' | 'existing' | 'delete' | 'dryRun' | 'wholeFiles' | 'archive' | 'numericIds';

/**
 * Checks the options that say which entries are sent.
 * @throws CastError ERR_RDMC_INVALID_OPTION, ERR_RDMC_INVALID_PATTERN, ERR_RDMC_UNSAFE_PATH
 */
export function checkSelection(options: CastOptions) {
  const rules = checkFilters(options.filters);
  const listed = options.only === undefined ? undefined : checkPaths(options.only);
  if (listed) ListedPath.tree(listed);
  const by = choiceOption<ComparisonKind>(WHERE, 'compare', options.compare ?? 'size-time', comparisons);
  const flag = (name: FlagName): boolean => booleanOption(WHERE, name, options[name] ?? false);
  const remove = flag('delete');
  if (remove && listed)
    throw invalidOption('delete needs whole directories; it cannot be combined with a list of paths');
  const [dryRun, wholeFiles] = [flag('dryRun'), flag('wholeFiles')];
  const [archive, numericIds] = [flag('archive'), flag('numericIds')];
  if (numericIds && !archive) throw invalidOption('numericIds: applies only with archive: true');
  const policy: ComparisonPolicy = {
    ...{ by, rules, remove },
    update: flag('update'),
    existing: flag('existing'),
    dryRun,
    ...(archive && { archive: true }),
    delta: by !== 'none' && !dryRun && !wholeFiles,
    resume: by !== 'none' && !dryRun && booleanOption(WHERE, 'resume', options.resume ?? true),
  };
  const isNeeded = by !== 'none' || policy.update || policy.existing || remove || policy.dryRun || archive;
  return {
    ...{ rules, listed },
    archive: archive ? { numericIds } : undefined,
    comparison: isNeeded ? policy : undefined,
  };
}

export function checkFilters(filters: unknown = []): readonly FilterRule[] {
  if (!Array.isArray(filters)) throw invalidOption('filters: needed a list of { action, pattern }');
  if (filters.length > MAX_FILTER_RULES)
    throw invalidOption(`filters: found ${filters.length} rules, at most ${MAX_FILTER_RULES} are possible`);
  const rules = filters.map((rule: FilterRule, index) => {
    const where = `filters[${index}]`;
    onlyKnownOptions(`${WHERE}: ${where}`, rule, ['action', 'pattern']);
    const action = choiceOption(WHERE, `${where}.action`, rule.action, ['include', 'exclude'] as const);
    if (typeof rule.pattern !== 'string') throw invalidOption(`${where}.pattern: needed a text`);
    return { action, pattern: rule.pattern };
  });
  const characters = rules.reduce((sum, { pattern }) => sum + pattern.length, 0);
  if (characters > MAX_FILTER_CHARACTERS)
    throw invalidOption(
      `filters: the patterns have ${characters} characters, at most ${MAX_FILTER_CHARACTERS} are possible`,
    );
  new Filter(rules);
  return rules;
}
