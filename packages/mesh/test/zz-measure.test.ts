import { appendFileSync } from 'node:fs';
import { it } from 'vitest';
import { explore } from './model/explore.js';
import { MeshModel, type Setting } from './model/mesh-model.js';

const settings: [string, Setting][] = [
  ['pair2', { id: 2, isPair: true, breaks: 2 }],
  ['pair0', { id: 0, isPair: true, breaks: 2 }],
  ['three1', { id: 1, breaks: 1 }],
  ['leave', { id: 2, breaks: 1, leaves: true }],
  ['second', { id: 2, successor: true }],
  ['replace1', { id: 1, successor: true, replace: true }],
  ['pairstop2', { id: 2, isPair: true, successor: true, stops: true }],
  ['pairstop0', { id: 0, isPair: true, successor: true, stops: true }],
  ['stop2', { id: 2, successor: true, stops: true }],
  ['stop0', { id: 0, successor: true, stops: true }],
];
it.each(settings)('%s', { timeout: 60_000 }, (name, setting) => {
  const before = performance.now();
  let text: string;
  try {
    const { states, unsafe, stuck } = explore(new MeshModel(setting), 40_000);
    text = JSON.stringify({ states, unsafe, stuck });
  } catch (error) {
    text = String(error) + (error as Error).stack?.slice(0, 600);
  }
  appendFileSync('/tmp/mj-model.txt', `${name} ${Math.round(performance.now() - before)} ms ${text}\n`);
});
