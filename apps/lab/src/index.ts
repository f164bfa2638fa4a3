export { type Chart, chart, type Series } from './charts/chart.js';
export { numberTable, shown } from './charts/number-table.js';
export { escaped } from './charts/text.js';
export { LabError, type LabErrorCode, labErrors } from './errors.js';
export { recordsFolder } from './record/folder.js';
export { readRecords } from './record/read.js';
export type { FigureRecord } from './record/record.js';
export { reportPage } from './report/page.js';
export { chartStyle } from './report/style.js';
