import { statSync } from 'node:fs'
import type { Db } from '../database/database.ts'
import { takeTapIn } from '../taps/take-tap.ts'
import { Checkpoints } from './checkpoints.ts'
import { openSqlite, readsBeside } from './connection.ts'
import { kyselyOver, ReaderProcess } from './reader-process.ts'
import { WriteGroup } from './write-group.ts'

/** @param file must be migrated @param failed receives errors of failed writes */
export function openDatabase(
  file: string,
  failed: (error: unknown, writes: number) => void = () => undefined,
): Db {
  const writer = openSqlite(file, { readonly: false })
  const reader = openSqlite(file, { readonly: true })
  const checkpoints = new Checkpoints(file, writer.connection)
  const group = new WriteGroup(writer, { reads: reader.readTurn, checkpoints, failed })
  // Separate processes, so that lists do not wait for a check of the whole database.
  const [queries, maintenance] = [new ReaderProcess(file), new ReaderProcess(file)]
  return {
    read: readsBeside(writer, reader),
    slow: kyselyOver(queries),
    write: (job) => group.add(job),
    takeTap: (tap) => group.addTap((trx) => takeTapIn(trx, tap)),
    maintenance: {
      sizeBytes: async () =>
        [file, `${file}-wal`].reduce(
          (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
          0,
        ),
      quickCheck: async () => String(await maintenance.run({ kind: 'check' })),
      backupTo: async (path) => {
        await maintenance.run({ kind: 'backup', path })
      },
    },
    async close() {
      await group.drained()
      await Promise.all([queries.close(), maintenance.close(), checkpoints.close()])
      // Kysely closes a connection only after a query, and an open read would block the checkpoint.
      reader.readTurn.end()
      writer.readTurn.end()
      await reader.kysely.destroy()
      reader.connection.close()
      // Also shortens the write-ahead log to nothing.
      writer.connection.pragma('wal_checkpoint(TRUNCATE)')
      await writer.kysely.destroy()
      writer.connection.close()
    },
  }
}
