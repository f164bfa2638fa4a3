import { expect, it } from 'vitest';
import { PortState } from '../src/port-state.js';

it('the port in use is down between its two events; events of another port are ignored', () => {
  const state = new PortState(2);
  expect(state.isDown).toBe(false);
  state.take({ type: 'portDown', port: 1 });
  expect(state.isDown).toBe(false);
  state.take({ type: 'portDown', port: 2 });
  state.take({ type: 'portActive', port: 1 });
  state.take({ type: 'addressChange', port: 2 });
  expect(state.isDown).toBe(true);
  state.take({ type: 'portActive', port: 2 });
  expect(state.isDown).toBe(false);
});
