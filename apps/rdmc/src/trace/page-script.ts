/**
 * The script of a timeline page: draws the spans of `#data` on the canvas. A row of a member has five lanes. Lanes are drawn
 * pixel by pixel where many spans share one, so that the cost depends on the window and not on the trace.
 */
export const pageScript = `
'use strict';
const { members, spans } = JSON.parse(document.getElementById('data').textContent);
const canvas = document.getElementById('timeline');
const details = document.getElementById('details');
const context = canvas.getContext('2d');
const LABEL = 84, AXIS = 22, LANE = 9, ROW = 5 * LANE + 8;
const COLOURS = {
  block: '#d1242f', ready: '#bf8700', sent: '#8250df', application: '#bf3989',
  message: '#57606a', send: '#0969da', receive: '#1a7f37', sleep: '#8c959f',
};
const NAMES = {
  block: 'waits for a block', ready: 'waits for an announcement', sent: 'waits for its sends',
  application: 'waits for its application', message: 'message', send: 'send', receive: 'receive', sleep: 'thread sleeps',
};
const lanes = members.map(() => [[], [], [], [], []]);
let end = 1;
for (const span of spans) {
  lanes[span[1]][span[0]].push(span);
  end = Math.max(end, span[2] + span[3]);
}
const longest = lanes.map((row) => row.map((lane) => lane.reduce((most, span) => Math.max(most, span[3]), 0)));
let from = 0, to = end, row = 0, chosen = null, drawn = false;

document.getElementById('legend').innerHTML = Object.keys(NAMES)
  .map((key) => '<span><i style="background:' + COLOURS[key] + '"></i>' + NAMES[key] + '</span>').join('');

/** Index of the first span of a lane that begins at or after the time. */
function firstFrom(lane, time) {
  let low = 0, high = lane.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lane[middle][2] < time) low = middle + 1; else high = middle;
  }
  return low;
}
const scale = () => (canvas.clientWidth - LABEL) / (to - from);
const xOf = (time) => LABEL + (time - from) * scale();
const timeOf = (x) => from + (x - LABEL) / scale();
function text(micros) {
  if (micros >= 1e6) return (micros / 1e6).toFixed(3) + ' s';
  return micros >= 1000 ? (micros / 1000).toFixed(2) + ' ms' : micros.toFixed(1) + ' µs';
}
function draw() {
  drawn = false;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = AXIS + members.length * ROW;
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = '12px system-ui, sans-serif';
  const style = getComputedStyle(document.body);
  context.fillStyle = context.strokeStyle = style.color;
  const power = 10 ** Math.floor(Math.log10((to - from) / 8));
  const step = power * [2, 5, 10].find((times) => times * power * 8 >= to - from);
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    context.globalAlpha = 0.15;
    context.fillRect(xOf(time), AXIS, 1, height);
    context.globalAlpha = 1;
    context.fillText(text(time), xOf(time) + 3, 14);
  }
  members.forEach((member, index) => {
    const top = AXIS + index * ROW;
    context.fillStyle = style.color;
    context.font = (index === row ? 'bold ' : '') + '12px system-ui, sans-serif';
    context.fillText('member ' + member, 6, top + 16);
    context.globalAlpha = 0.2;
    context.fillRect(0, top, width, 1);
    context.globalAlpha = 1;
    lanes[index].forEach((lane, track) => drawLane(lane, longest[index][track], top + 4 + track * LANE, width));
  });
  if (!chosen) return;
  context.strokeStyle = style.color;
  context.lineWidth = 2;
  const top = AXIS + chosen[1] * ROW + 4 + chosen[0] * LANE;
  context.strokeRect(xOf(chosen[2]), top - 1, Math.max(2, chosen[3] * scale()), LANE);
}
function drawLane(lane, most, top, width) {
  let painted = LABEL;
  for (let at = firstFrom(lane, from - most); at < lane.length && lane[at][2] <= to; at += 1) {
    const [, , begin, length, , , , , what] = lane[at];
    const left = Math.max(xOf(begin), LABEL), right = Math.min(Math.max(xOf(begin + length), left + 1), width);
    if (right <= painted) continue;
    context.fillStyle = COLOURS[what];
    context.fillRect(left, top, right - left, LANE - 2);
    if (right - left <= 1) painted = right;
  }
}
function redraw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(draw);
}
function show(begin, finish) {
  const length = Math.min(Math.max(finish - begin, 0.5), end);
  from = Math.min(Math.max(0, begin), end - length);
  to = from + length;
  redraw();
}
function zoom(factor, middle) {
  show(middle - (middle - from) * factor, middle + (to - middle) * factor);
}
function choose(span) {
  chosen = span;
  if (!span) return;
  row = span[1];
  const [, , begin, length, group, message, block, peer, what] = span;
  const of = [message < 0 ? '' : 'message ' + message, block < 0 ? '' : 'block ' + block, peer < 0 ? '' : 'member ' + peer];
  details.textContent = 'Member ' + members[row] + ': ' + NAMES[what] + ', ' + text(length) + ' from ' + text(begin) +
    '; group ' + group + of.filter(Boolean).map((part) => ', ' + part).join('') + '.';
  if (begin + length < from || begin > to) show(begin - (to - from) / 2, begin + (to - from) / 2);
  redraw();
}
function spanAt(x, y) {
  const index = Math.floor((y - AXIS) / ROW), track = Math.floor((y - AXIS - index * ROW - 4) / LANE);
  const lane = lanes[index] && lanes[index][track];
  if (!lane) return null;
  const time = timeOf(x), reach = 3 / scale();
  for (let at = firstFrom(lane, time + reach) - 1; at >= 0 && lane[at][2] >= time - longest[index][track] - reach; at -= 1) {
    if (lane[at][2] + lane[at][3] >= time - reach) return lane[at];
  }
  return null;
}
function next(direction) {
  const waits = lanes[row][0];
  const now = chosen && chosen[0] === 0 && chosen[1] === row ? waits.indexOf(chosen) : firstFrom(waits, from) - (direction > 0 ? 1 : 0);
  choose(waits[Math.min(Math.max(now + direction, 0), waits.length - 1)] || null);
}
function member(direction) {
  row = Math.min(Math.max(row + direction, 0), members.length - 1);
  details.textContent = 'Member ' + members[row] + ': ' + lanes[row][0].length + ' waits, ' + lanes[row][3].length + ' receives.';
  chosen = null;
  redraw();
}
const middle = () => (from + to) / 2;
const move = (part) => show(from + (to - from) * part, to + (to - from) * part);
const KEYS = {
  '+': () => zoom(0.5, middle()), '=': () => zoom(0.5, middle()), '-': () => zoom(2, middle()),
  ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), ArrowUp: () => member(-1), ArrowDown: () => member(1),
  0: () => show(0, end), Home: () => show(0, to - from), End: () => show(end - (to - from), end),
  n: () => next(1), p: () => next(-1),
};
canvas.addEventListener('keydown', (event) => {
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event.offsetX));
}, { passive: false });
let held = null;
canvas.addEventListener('pointerdown', (event) => {
  held = { x: event.offsetX, from, to, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', (event) => {
  if (!held) return;
  const shift = (held.x - event.offsetX) / scale();
  held.moved ||= Math.abs(held.x - event.offsetX) > 3;
  if (held.moved) show(held.from + shift, held.to + shift);
});
canvas.addEventListener('pointerup', (event) => {
  if (held && !held.moved) choose(spanAt(event.offsetX, event.offsetY));
  held = null;
});
window.addEventListener('resize', redraw);
draw();
`;
