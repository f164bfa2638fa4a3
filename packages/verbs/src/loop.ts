/** Objects that wake a thread's event loop, and functions for threads that poll. */
export { EventFd, eventfdSignaller, FdWatcher, threadCpuSeconds, yieldProcessor } from './eventfd.js';
export { FineTimer } from './fine-timer.js';
