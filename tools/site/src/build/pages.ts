/** A document of the site: a Markdown file of the repository, which is readable there, too. */
export interface Page {
  /** Relative to the root. */
  readonly file: string;
  readonly title: string;
  readonly group: 'Guides' | 'Reference' | 'Results';
  /** Results to draw below the title: names of files in docs/results. */
  readonly charts?: readonly string[];
}

/** The documents beside the README of each package, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  guide('guides/first-multicast.md', 'First multicast'),
  guide('moving-files.md', 'Files to many machines'),
  guide('guides/small-messages.md', 'Small messages'),
  guide('guides/shards.md', 'Shards of a model, into memory'),
  guide('guides/replicated-logs.md', 'Replicated logs'),
  guide('guides/who-delays-whom.md', 'Who delays whom'),
  guide('guides/your-device.md', 'A device of your own'),
  guide('guides/your-protocol.md', 'A protocol of your own'),
  guide('rdma-hardware.md', 'RDMA hardware'),
  guide('soft-roce.md', 'RDMA without the hardware'),
  guide('schedule-explorer.md', 'Schedule explorer'),
  { file: 'docs/errors.md', title: 'Error codes', group: 'Reference' },
  { file: 'docs/glossary.md', title: 'Glossary', group: 'Reference' },
  { file: 'docs/architecture.md', title: 'Architecture', group: 'Reference' },
  { file: 'docs/install-sizes.md', title: 'Sizes of installations', group: 'Reference' },
  { file: 'CONTRIBUTING.md', title: 'Contributing', group: 'Reference' },
  result('README.md', 'Results'),
  result('papers.md', 'The figures of the papers'),
  result('multicast.md', 'Multicast on one host'),
  result('network.md', 'Over a network', ['network-multicast.json']),
  result('multicast-windows.md', 'Windows of groups'),
  result('hipower.md', 'HiPower', ['hipower-rate.json']),
  result('logs.md', 'Logs', ['log-appends.json']),
  result('key-value.md', 'Key-value store', ['key-value-sets.json']),
  result('soft-roce.md', 'On soft-RoCE'),
  result('before-after.md', 'Before and after'),
  result('tests.md', 'Tests'),
];

function guide(file: string, title: string): Page {
  return { file: `docs/${file}`, title, group: 'Guides' };
}

function result(file: string, title: string, charts: readonly string[] = []): Page {
  return { file: `docs/results/${file}`, title, group: 'Results', charts };
}
