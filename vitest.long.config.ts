import { defineConfig } from 'vitest/config'
import { missingTools } from './scripts/test-tools.mjs'

const missing = missingTools('long')
const leftOut = missing.flatMap(({ tests }) => tests)

/** They measure memory or a machine under load, use up a disk or descriptors, or build what the others use. */
const alone = [
  'badge-memory',
  'descriptors',
  'disk-full',
  'generators',
  'hostile-load',
  'large',
  'memory',
  'million',
  'package',
  'probes-nodes',
  'stopped-processes',
  'streamed-bodies',
  'tap-page-still',
].map((name) => `tests/long/${name}.test.ts`)

const long = {
  globalSetup: 'tests/support/left-out.ts',
  provide: { leftOut: missing },
}

export default defineConfig({
  define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  test: {
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    allowOnly: false,
    projects: [
      {
        extends: true,
        test: {
          ...long,
          name: 'beside',
          include: ['tests/long/**/*.test.ts'],
          exclude: [...alone, ...leftOut],
          // They wait for blocks, deadlines, and processes most of their time.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          ...long,
          name: 'alone',
          include: alone,
          exclude: leftOut,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
