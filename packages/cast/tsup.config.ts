import { bundle, WITH_ZOD } from '../../tools/testing/config/bundle.js';

export default bundle(['src/index.ts', 'src/reader.ts', 'src/writer.ts'], WITH_ZOD);
