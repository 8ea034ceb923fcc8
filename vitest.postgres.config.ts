import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { define, usual } from './vitest.config.ts'

/** Of a database in a file alone: its damage, its copies, and the disk that it lies on. */
const ofFiles = [
  'tests/daemon/admin-backup.test.ts',
  // Edits the file by hand; that the log is whole on PostgreSQL is in tests/cli/audit.test.ts.
  'tests/daemon/audit-chain.test.ts',
  // A claim at POAP that a killed daemon leaves behind is another's there after 90 seconds, and here at the next start.
  'tests/daemon/badge-crash.test.ts',
  'tests/daemon/tap-page-crash.test.ts',
  'tests/daemon/batches/full-disk.test.ts',
  'tests/daemon/checkpoints.test.ts',
  'tests/daemon/disk-full.test.ts',
  'tests/daemon/restore-chain.test.ts',
  'tests/daemon/restore.test.ts',
  'tests/daemon/upgrade.test.ts',
]

/** Five daemons at a time, which want the server's connections for themselves. */
const nodes = 'tests/long/nodes.test.ts'

/** The tests of everything that stores, on PostgreSQL. */
export default defineConfig({
  define,
  test: {
    ...usual,
    projects: [
      {
        extends: true,
        test: {
          name: 'store',
          // The server and the chains take a core of their own.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          include: [
            'tests/daemon/**/*.test.ts',
            'tests/fleet/**/*.test.ts',
            'tests/chain/relayer*.test.ts',
            // Of the command line, what reads and writes in ways that the others do not.
            'tests/cli/{audit,badge-events,badge-events-undo,batch-rate,batches,chips,chips-apply}.test.ts',
            'tests/cli/{chips-edit,doctor,guestbook,json-fields,phygitals,taps-stats,transactions,webhooks}.test.ts',
            'tests/e2e/{crash,transfers-crash}.test.ts',
            'tests/long/{audit-million,collect-crash}.test.ts',
          ],
          // The latter is a part of the nodes.
          exclude: [...ofFiles, 'tests/daemon/public-nodes.test.ts'],
          globalSetup: 'tests/support/postgres-server.ts',
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'nodes',
          include: [nodes],
          globalSetup: 'tests/support/postgres-server.ts',
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
