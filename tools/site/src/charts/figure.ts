import { chart, escaped, numberTable } from '@rdmc/lab';
import type { Result } from './result.js';

/** A chart with its origin, and its numbers as a table. One block of HTML, without empty lines: it stands in Markdown. */
export function figure(result: Result, id: string): string {
  const { title, description, machine, date, commit, command } = result;
  const caption = [
    `<strong>${escaped(title)}.</strong> ${escaped(description)}`,
    `<small>${escaped(date)}, ${escaped(machine)}; <code>${escaped(command)}</code>; recorded by commit ${escaped(commit)}.</small>`,
  ];
  const numbers = `<details><summary>The numbers: ${escaped(result.y.label)}</summary>${numberTable(result)}</details>`;
  return `<figure class="result">${chart(result, id)}<figcaption>${caption.join('<br>')}</figcaption>${numbers}</figure>`;
}
