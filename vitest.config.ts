import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { missingTools } from './scripts/test-tools.mjs'

const missing = missingTools('fast')
const leftOut = missing.flatMap(({ tests }) => tests)

/**
 * Where no times of an earlier run are known, vitest begins with the largest files. Those that start daemons are small
 * and take longest: at the end they would run alone.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => /\/tests\/(e2e|pcsc|nfc\/provision)\//.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

/**
 * Where tests keep their databases: in memory if there is room. No test is about a loss of power, so all that a disk adds
 * is waiting for it after each commit.
 */
function inMemory(): string | undefined {
  const dir = '/dev/shm'
  if (!existsSync(dir)) return undefined
  const { bavail, bsize } = statfsSync(dir)
  const runsNothing = /^\S+ \/dev\/shm \S+ \S*\bnoexec\b/m.test(readFileSync('/proc/mounts', 'utf8'))
  return runsNothing || Math.min(bavail * bsize, process.availableMemory()) < 6 * 2 ** 30 ? undefined : dir
}

const memory = inMemory()
if (memory !== undefined) process.env.TMPDIR ??= memory

export const usual = {
  setupFiles: 'tests/support/documented-refusals.ts',
  pool: 'forks',
  // A worker loads the code once and not once a file, which was a quarter of the time: no test replaces a module.
  isolate: false,
  // The next run finds its modules transformed.
  experimental: { fsModuleCache: true },
  // Tests wait for processes, disks, and chains half of their time.
  maxWorkers: availableParallelism() + 2,
  sequence: { sequencer: LongestFirst },
  // Deadlines only end what hangs: a machine whose cores are busy takes several times as long.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
  retry: 0,
  allowOnly: false,
} as const

export const define = { __TAPCHIP_VERSION__: '"0.0.0-test"' }

/** The store's suite, which runs on both engines: `npm run test:postgres` runs all that stores. */
const store = [
  'tests/daemon/admin-chips-import.test.ts',
  'tests/daemon/batches/batches.test.ts',
  'tests/daemon/refs.test.ts',
  'tests/daemon/retention.test.ts',
  'tests/daemon/store.test.ts',
  'tests/daemon/tap-chain.test.ts',
  'tests/daemon/taps-guard.test.ts',
  'tests/daemon/taps.test.ts',
]

export default defineConfig({
  define,
  test: {
    ...usual,
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['tests/**/*.test.ts'],
          exclude: ['tests/long/**', 'tests/fleet/**', ...leftOut],
          globalSetup: 'tests/support/left-out.ts',
          provide: { leftOut: missing },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: leftOut.includes('tests/fleet/**') ? [] : store,
          globalSetup: 'tests/support/postgres-server.ts',
        },
      },
    ],
  },
})
