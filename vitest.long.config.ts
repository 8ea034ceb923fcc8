import { defineConfig } from 'vitest/config'

export default defineConfig({
  define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  test: {
    include: ['tests/long/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    allowOnly: false,
  },
})
