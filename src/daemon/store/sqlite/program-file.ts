import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const near = createRequire(import.meta.url)

/**
 * A program that runs beside the daemon, as the build bundles it; tests run it from there as well, since Node cannot run
 * its source. @throws Error if it was not built
 */
export const programFile = (name: 'database-reader' | 'checkpoint-thread'): string =>
  near.resolve(join(dirname(near.resolve('tapchip/package.json')), 'dist', `${name}.cjs`))
