import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { missingTools } from './scripts/test-tools.mjs'

const missing = missingTools('fast')
const leftOut = missing.flatMap(({ tests }) => tests)

export default defineConfig({
  define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/long/**', ...leftOut],
    globalSetup: 'tests/support/left-out.ts',
    setupFiles: 'tests/support/documented-refusals.ts',
    provide: { leftOut: missing },
    pool: 'forks',
    // A worker loads the code once and not once a file, which was a quarter of the time: no test replaces a module.
    isolate: false,
    // Most of these tests wait for a process, a disk or a chain: a core that is left free stays idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Deadlines only end what hangs: a machine whose cores are busy takes several times as long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    allowOnly: false,
  },
})
