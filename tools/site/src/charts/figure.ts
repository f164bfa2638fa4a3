import { chart } from './chart.js';
import { type Result, shown } from './result.js';
import { escaped } from './text.js';

/** A chart with its origin, and its numbers as a table. One block of HTML, without empty lines: it stands in Markdown. */
export function figure(result: Result, id: string): string {
  const { title, description, machine, date, commit, command } = result;
  const caption = [
    `<strong>${escaped(title)}.</strong> ${escaped(description)}`,
    `<small>${escaped(date)}, ${escaped(machine)}; <code>${escaped(command)}</code>; recorded by commit ${escaped(commit)}.</small>`,
  ];
  return `<figure class="result">${chart(result, id)}<figcaption>${caption.join('<br>')}</figcaption>${table(result)}</figure>`;
}

function table(result: Result): string {
  const { x, series } = result;
  const head = series.map(({ name }) => `<th scope="col">${escaped(name)}</th>`).join('');
  const rows = x.values.map((value, index) => {
    const cells = series.map(({ values }) => `<td>${shown(values[index]!, result)}</td>`).join('');
    return `<tr><th scope="row">${escaped(`${value}`)}</th>${cells}</tr>`;
  });
  const summary = `<summary>The numbers: ${escaped(result.y.label)}</summary>`;
  return `<details>${summary}<table><thead><tr><th scope="col">${escaped(x.label)}</th>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></details>`;
}
