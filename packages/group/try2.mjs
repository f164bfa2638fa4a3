import { DataPlane } from '@rdmc/dataplane';
const p = await Promise.all([1,2].slice(0,Number(process.argv[2]??1)).map(()=>DataPlane.start({protocols:[{name:'g',module:new URL('./dist/worker.js',import.meta.url),data:new SharedArrayBuffer(1<<18)}]})));
if (process.argv[3]) { const r = await p[0].protectionDomain.allocate(1000); r.view().fill(1); if (process.argv[3]==='close') await r.close(); }
console.log('started'); await Promise.all(p.map(x=>x.close())); console.log('closed');
