import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { flag, text, timestamp } from '../fields.ts'
import { budget } from './teams.ts'

const databaseState = () =>
  z.object({
    engine: z.enum(['sqlite', 'postgres']),
    sizeBytes: z.number(),
    integrity: z.string().nullable(),
    /** Null: the database is a file. */
    server: z
      .object({
        /** Host and database. */
        name: z.string(),
        version: z.string(),
        /** Round-trip time of one query. */
        latencyMs: z.number(),
        /** Empty if the server does not report it. */
        standbys: z.array(
          z.object({
            name: z.string(),
            syncState: z.string(),
            lagSeconds: z.number().nullable(),
            lagBytes: z.number().nullable(),
          }),
        ),
        /** This daemon's connections. */
        pools: z.array(
          z.object({
            pool: z.enum(['read', 'tap', 'write', 'slow']),
            inUse: z.number(),
            idle: z.number(),
            waiting: z.number(),
            max: z.number(),
          }),
        ),
        /** Work that was repeated since the start. */
        conflicts: z.number(),
        lostConnections: z.number(),
      })
      .nullable(),
  })

export const daemon = {
  'GET /admin/status': adminEndpoint({
    id: 'getStatus',
    summary: "Report the caller, the daemon's contents, and its environment",
    scope: 'read',
    // The check reads the whole database and blocks all other requests.
    query: () => z.object({ check: flag.optional() }),
    response: () =>
      z.object({
        version: z.string(),
        pid: z.number(),
        uptimeSeconds: z.number(),
        url: z.string(),
        admin: z.string(),
        dataDir: z.string(),
        ephemeral: z.boolean(),
        schema: z.string(),
        /** Set if this start migrated a database of an earlier version; `copy`: the backup made before, or null. */
        upgrade: z.object({ from: z.string(), to: z.string(), copy: z.string().nullable() }).nullable(),
        token: z.object({ name: z.string(), scopes: z.array(z.string()) }),
        database: databaseState(),
        /** Null: no backup was ever made. Absent for a database server, and to a credential for one team. */
        lastBackupAt: timestamp.nullable().optional(),
        /** Free space of the data directory's disk. */
        disk: z.object({
          freeBytes: z.number().nullable(),
          refusedWrites: z.number(),
          state: z.enum(['writable', 'full', 'failing']),
        }),
        /** Where new badge events are created. `trouble` says why that does not work; null if it does, or is not checked. */
        badges: z.object({ provider: z.enum(['embedded', 'poap']), trouble: z.string().nullable() }),
        /** Null: none is configured. `trouble` as with badges. */
        mail: z.object({ trouble: z.string().nullable() }).nullable(),
        /** Settings that have no effect or should be changed. */
        warnings: z.array(z.string()),
        /** Teams that sent transactions today or have waiting announcements; at most 100. */
        budgets: z.array(budget().extend({ team: z.string() })),
        /** `broken`: IDs of the last entry, found and expected, once the log does not continue from what the daemon has recorded. */
        audit: z
          .object({
            entries: z.number(),
            head: z.string(),
            sealedSince: timestamp.nullable(),
            broken: z.object({ lastId: z.number(), expected: z.number() }).nullable(),
          })
          .nullable()
          .describe('null to a credential for one team'),
        /** `failed`: disabled by the daemon, since they could not be delivered; at most 100. */
        webhooks: z.object({
          enabled: z.number(),
          failed: z.array(z.object({ id: z.number(), reason: z.string() })),
        }),
        counts: z
          .object({ teams: z.number(), keySets: z.number(), chips: z.number(), taps: z.number().nullable() })
          .describe('to a credential for one team: its own, and null for taps'),
      }),
  }),
  'POST /admin/root-token/roll': adminEndpoint({
    isForAllTeams: true,
    dryRun: 'input',
    id: 'rollRootToken',
    summary: "Replace the root token in the daemon's data directory, and end the old one at once",
    scope: 'all',
    response: () => z.object({ path: z.string().describe('the file that holds the new one') }),
  }),
  'POST /admin/backup': adminEndpoint({
    isForAllTeams: true,
    dryRun: 'input',
    id: 'backUp',
    summary: 'Back up the database consistently to a folder of the daemon while taps continue',
    scope: 'all',
    body: () =>
      z.object({
        /** Wraps the data key into the backup. Without it, the backup can only be read with the daemon's own key. */
        passphrase: text(1000)
          .refine((words) => words.length >= 12, 'must have at least 12 characters')
          .optional(),
      }),
    response: () =>
      z.object({
        path: z.string(),
        sizeBytes: z.number(),
        holdsDataKey: z.boolean(),
        warning: z.string().optional(),
      }),
  }),
} as const
