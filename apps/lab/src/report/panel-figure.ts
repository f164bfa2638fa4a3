import { type Chart, chart } from '../charts/chart.js';
import { numberTable } from '../charts/number-table.js';
import { escaped } from '../charts/text.js';
import type { Panel } from '../record/record.js';

/** Numbers as a picture with a table below it, or as a table only. */
export function panelFigure(panel: Panel, id: string): string {
  const caption = `<figcaption><strong>${escaped(panel.title)}.</strong> ${escaped(panel.description)}</figcaption>`;
  const numbers = `<div class="scroll">${numberTable(panel)}</div>`;
  if (!isDrawn(panel)) return `<figure class="result">${caption}${numbers}</figure>`;
  const summary = `<summary>The numbers: ${escaped(panel.y.label)}</summary>`;
  return `<figure class="result">${chart(panel, id)}${caption}<details>${summary}${numbers}</details></figure>`;
}

function isDrawn(panel: Panel): panel is Panel & Chart {
  return panel.kind !== 'table';
}
