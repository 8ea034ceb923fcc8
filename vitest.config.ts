import { defineConfig } from 'vitest/config'

export default defineConfig({
  define: { __TAPCHIP_VERSION__: '"0.0.0-test"' },
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/long/**'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 30_000,
    retry: 0,
    allowOnly: false,
  },
})
