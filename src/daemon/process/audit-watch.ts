import type { Logger } from 'pino'
import { BackgroundLoop } from '../../values/background-loop.ts'
import { type Clock, iso } from '../domain/time/time.ts'
import type { WebhookEvents } from '../domain/webhooks/events.ts'
import { recordChange } from '../store/audit/audit.ts'
import { type AuditSeal, checkAuditHead } from '../store/audit/audit-head.ts'
import type { Db } from '../store/database/database.ts'
import { setSetting, setting } from '../store/database/settings.ts'

interface Deps {
  db: Db
  seal: AuditSeal
  clock: Clock
  log: Pick<Logger, 'error'>
  webhookEvents: Pick<WebhookEvents, 'record' | 'subscribedTeams'>
}

const pollMs = 1000
const reportedKey = 'auditBroken'

/** Detects edits of the audit log while the daemon runs, and reports them while the previous state is still known. */
export function auditWatch(deps: Deps): BackgroundLoop {
  let isReported = false
  return new BackgroundLoop({
    async run() {
      const { db, seal } = deps
      // An earlier process may have found and reported it.
      const isOld = seal.newest === undefined
      await checkAuditHead(db.read, seal)
      if (seal.broken === undefined || isReported) return
      await report(deps, seal.broken, isOld)
      isReported = true
    },
    restMs: () => pollMs,
    // Other code that needs the database reports this failure.
    failed: () => undefined,
  })
}

async function report(
  { db, clock, log, webhookEvents }: Deps,
  { lastId, expected }: { lastId: number; expected: number },
  isOld: boolean,
): Promise<void> {
  log.error(
    { lastId, expected },
    'the audit log does not continue from the entries that this daemon has recorded: somebody edited the database, or replaced it with an earlier one. Entries are no longer sealed. Compare the log with a backup or an export: tapchip audit verify',
  )
  const at = iso(clock.now())
  await db.write(async (trx) => {
    if (isOld && (await setting(trx, reportedKey)) !== undefined) return
    await setSetting(trx, reportedKey, at)
    const actor = { name: 'daemon', requestId: null }
    const detail = { lastId, expected }
    await recordChange(trx, { at, actor, teamId: null, action: 'audit.broken', target: 'audit log', detail })
    for (const teamId of webhookEvents.subscribedTeams('audit.broken'))
      await webhookEvents.record(trx, { teamId, type: 'audit.broken', at, data: { at, ...detail } })
  })
}
