import { defineConfig } from 'vitest/config'
import { missingTools } from './scripts/test-tools.mjs'

const missing = missingTools('long')
const leftOut = missing.flatMap(({ tests }) => tests)

export default defineConfig({
  define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  test: {
    include: ['tests/long/**/*.test.ts'],
    exclude: leftOut,
    globalSetup: 'tests/support/left-out.ts',
    provide: { leftOut: missing },
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    allowOnly: false,
  },
})
