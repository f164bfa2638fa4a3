/** What wakes a thread's event loop, and what a thread that polls needs. */
export { EventFd, eventfdSignaller, FdWatcher, threadCpuSeconds, yieldProcessor } from './eventfd.js';
export { FineTimer } from './fine-timer.js';
